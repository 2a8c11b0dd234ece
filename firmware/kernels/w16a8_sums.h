/* Inputs of int16 times rows of weights, private to the kernels of w16a8. A product is at most 255 * 32767 in
   magnitude: W16A8_FIT of them are below 2^31. Longer sums are added up in 64 bits, part by part. */
#pragma once

#include "kernels/w16a8.h"

enum { W16A8_FIT = 256 };

/* A vector of `n` inputs takes so many int16: the next one is aligned to a word, too. */
static inline uint32_t w16a8_vector(uint32_t n) {
    return (n + 1u) & ~1u;
}

/* The outputs of all `channels`, each a row of `taps` weights, for one or two vectors of inputs. The channels of a
   vector follow each other in `out`. */
void w16a8_rows(const int16_t *vectors, uint32_t count, const int16_t *weights, uint32_t taps, uint32_t channels,
                const w16a8_layer_t *layer, int8_t *out);

/* rescale of docs/arithmetic-w16a8.md, section 2. */
static inline int32_t w16a8_rescale(int32_t acc, int32_t multiplier, int32_t shift) {
    const int32_t high = (int32_t)(((int64_t)acc * multiplier) >> 32);
    return (high + (1 << (-shift - 2))) >> (-shift - 1);
}

/* The outputs of `n` sums that have their biases. The sums are used up. */
void w16a8_outputs(int32_t *acc, uint32_t n, const w16a8_layer_t *layer, int8_t *out);
