/* rescale of docs/arithmetic-tflite.md, section 3: acc * multiplier * 2^(shift - 31), with a multiplier in
   2^30..2^31 - 1, of a mean from 2^29 on, and a shift in -31..30. */
#pragma once

#include <stdint.h>

#include "arith/integers.h"

/* sat32(x * 2^n), n in 0..30. */
static inline int32_t shift_left_sat32(int32_t x, int32_t n) {
    if (x > INT32_MAX >> n) {
        return INT32_MAX;
    }
    return x < INT32_MIN >> n ? INT32_MIN : (int32_t)((uint32_t)x << n);
}

/* x / 2^n, half away from zero, n in 0..31: the magnitude, which has 32 bits, rounded half up. */
static inline int32_t divide_half_away(int32_t x, int32_t n) {
    if (n == 0) {
        return x;
    }
    const uint32_t cut = magnitude(x) >> (n - 1);
    const int32_t rounded = (int32_t)((cut >> 1) + (cut & 1u));
    return x < 0 ? -rounded : rounded;
}

static inline int32_t rescale_double(int32_t acc, int32_t multiplier, int32_t shift) {
    const int32_t shifted = shift > 0 ? shift_left_sat32(acc, shift) : acc;
    const int64_t product = (int64_t)shifted * multiplier;
    const int32_t high = (int32_t)((product + (INT64_C(1) << 30)) >> 31);
    return divide_half_away(high, shift < 0 ? -shift : 0);
}

static inline int64_t rescale_single(int32_t acc, int32_t multiplier, int32_t shift) {
    const int64_t product = (int64_t)acc * multiplier;
    return (product + (INT64_C(1) << (30 - shift))) >> (31 - shift);
}
