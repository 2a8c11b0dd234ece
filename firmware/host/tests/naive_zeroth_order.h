/* docs/arithmetic-zeroth-order.md once more, as plainly as the text allows: states stepped one by one, 128-bit
   integers, every float operation in binary64 and then rounded to binary32. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The next draw of a stream: -1 or 1. */
int32_t naive_xi(uint32_t *state);

/* n in 0..126; half away from zero; half up. */
__int128 naive_divide_away(__int128 x, int n);
__int128 naive_divide_up(__int128 x, int n);

/* rescale of docs/arithmetic-tflite.md, section 3. */
int64_t naive_rescale(int64_t acc, int64_t multiplier, int shift, bool single);

/* f of section 6, from eta on. */
typedef struct {
    float eta;
    bool gns, nodes, qas, bias;
    uint32_t samples, queries, dimensions;
    int32_t multiplier;
    int shift;
    float weight_scale, input_scale;
} naive_update_t;

float naive_factor(const naive_update_t *update);

/* D of section 6 for a gradient with exponent E; `update` decides whether m_o lowers it. */
int64_t naive_update_step(const naive_update_t *update, int64_t gradient, int exponent);
