/* Sums of an error that become bytes: clamp(zero + R(sum, factor), -128, 127), docs/arithmetic-affine8.md, section 7.
   Private to the DSP kernels of the format affine8. */
#pragma once

#include "arith/affine8.h"
#include "kernels/dsp_multiply.h"

/* Whether R is the upper word of a product with byte_multiplier(), rounded to nearest. */
static inline bool byte_is_quick(affine8_factor_t factor) {
    return factor.n >= 17 && factor.n <= 32 && !factor.floors;
}

static inline int32_t byte_multiplier(affine8_factor_t factor) {
    return byte_is_quick(factor) ? (int32_t)((uint32_t)factor.m << (32 - factor.n)) : 0;
}

static inline int8_t quick_byte(int32_t sum, int32_t multiplier, int32_t zero) {
    return (int8_t)as_byte(sum_of_nearest_product(zero, sum, multiplier));
}

static inline int8_t any_byte(int32_t sum, affine8_factor_t factor, int32_t zero) {
    return (int8_t)as_byte(zero + affine8_rescale(sum, factor));
}
