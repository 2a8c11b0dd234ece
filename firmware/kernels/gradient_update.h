/* What an update makes of a gradient: docs/arithmetic-zeroth-order.md, section 6; docs/arithmetic-backward.md, section 4. */
#ifndef GRADIENT_UPDATE_H
#define GRADIENT_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "arith/bits.h"

/* Weights and biases at rest are within plus or minus these (section 2 there). */
enum { WEIGHT_LIMIT = 126, BIAS_LIMIT = (1 << 30) - (1 << 20) };

/* The update of a layer. */
typedef struct {
    float rate;     /* update_rate() */
    bool nodes;     /* the gradient is made of errors of the outputs: node perturbation, back-propagation */
    float factor;   /* then: C of the output, 1 with node perturbation */
    bool qas;       /* quantization-aware scaling */
    bool depthwise; /* weights are height, width, channel; else output first */
    uint32_t taps;  /* weights behind one output channel */
    uint32_t channels;
    float input_scale;
    const float *weight_scale; /* these three by output channel */
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t exponent; /* E, of the gradient */
} gradient_update_t;

/* f of one channel and, with the gradient's exponent, how it is applied: D = G * m / 2^n. m = 0: no update. */
typedef struct {
    uint32_t m; /* 2^23..2^24 - 1 */
    int32_t n;
} update_factor_t;

/* f as far as it is the same for all channels of a layer: `eta`, with gns scaled for `dimensions` (d), divided by samples * queries. */
float update_rate(float eta, bool gns, uint32_t samples, uint32_t queries, uint32_t dimensions);

/* Of output channel `o`, for its weights or for its bias. */
update_factor_t weight_update_factor(const gradient_update_t *update, uint32_t o);
update_factor_t bias_update_factor(const gradient_update_t *update, uint32_t o);

/* D of one element for any n: -2^30..2^30. */
int32_t update_step(int32_t gradient, update_factor_t factor);

/* The same for n in 33..62: the half lies above the lower word of the product, and nothing reaches 2^30. */
static inline int32_t update_step_upper(int32_t gradient, uint32_t m, int32_t n) {
    const uint32_t upper = (uint32_t)((uint64_t)magnitude(gradient) * m >> 32);
    const int32_t step = (int32_t)((upper + (1u << (n - 33))) >> (n - 32));
    return gradient < 0 ? -step : step;
}

#endif
