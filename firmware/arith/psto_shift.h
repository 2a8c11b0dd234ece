/* PstoShift: docs/arithmetic.md, section 2. */
#pragma once

#include <stdint.h>

#include "arith/integers.h"

/* Whether the upper half of the `s` dropped bits is greater than the lower half. */
static inline uint32_t psto_rounds_up(uint32_t dropped, uint32_t s) {
    const uint32_t half = s / 2;
    const uint32_t hi = dropped >> half;
    uint32_t lo = dropped - (hi << half);
    if (s % 2 != 0) {
        lo = 2 * lo;
    }
    return hi > lo ? 1 : 0; /* never for s = 0, where nothing is dropped */
}

/* Pseudo-stochastic rounding of x / 2^s to -127..127, s in 0..31: the low bits of x decide by themselves. */
static inline int32_t psto_shift(int32_t x, int32_t s) {
    const uint32_t m = magnitude(x);
    const uint32_t shift = (uint32_t)s;
    const uint32_t q = m >> shift;
    const uint32_t dropped = m - (q << shift);
    const uint32_t rounded = q + psto_rounds_up(dropped, shift);
    const int32_t clipped = rounded > 127 ? 127 : (int32_t)rounded;
    return x < 0 ? -clipped : clipped;
}
