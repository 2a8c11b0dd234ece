/* Divisions by 2^s and their rounding: docs/arithmetic.md, sections 1 and 2. A shift of a negative number is arithmetic
   in every compiler that this code supports. */
#pragma once

#include <stdint.h>

#include "arith/clip127.h"

/* trunc(x / 2^n); 0 for n >= 31. */
static inline int32_t trunc_shift(int32_t x, int32_t n) {
    if (n >= 31) {
        return 0;
    }
    const int32_t below = (x >> 31) & (int32_t)((1u << n) - 1u); /* moves floor to trunc for x < 0 */
    return (x + below) >> n;
}

/* x / 2^s, rounded half away from zero, for s in 1..31 and x > -2^31. With one taken from negative x, a half of either
   sign is away from zero if the highest dropped bit is added; unlike x + 2^(s-1) this cannot overflow. */
static inline int32_t round_half_away(int32_t x, int32_t s) {
    const int32_t doubled = (x + (x >> 31)) >> (s - 1);
    return (doubled >> 1) + (doubled & 1);
}

/* RoundShift(x, s), s in 1..31, x > -2^31. */
static inline int32_t round_shift(int32_t x, int32_t s) {
    return clip127(round_half_away(x, s));
}
