/* bits, clip127, clipW, sat32 and divisions by 2^s (docs/arithmetic.md, sections 1 and 2). A
   shift of a negative number is arithmetic in every compiler that this code supports. */
#pragma once

#include <stdint.h>

/* |x|, also for -2^31. */
static inline uint32_t magnitude(int32_t x) {
    return x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
}

/* 0 for 0, else floor(log2 m) + 1. */
static inline int32_t bits(uint32_t m) {
    return m == 0 ? 0 : 32 - __builtin_clz(m);
}

static inline int32_t clip(int32_t x, int32_t limit) {
    x = x > limit ? limit : x;
    return x < -limit ? -limit : x;
}

static inline int32_t clip127(int32_t x) {
    return clip(x, 127);
}

/* sat32(a + b). The sum overflowed if it has the sign of neither term. */
static inline int32_t add_sat32(int32_t a, int32_t b) {
    const uint32_t sum = (uint32_t)a + (uint32_t)b;
    const uint32_t overflow = ((uint32_t)a ^ sum) & ((uint32_t)b ^ sum);
    if (overflow >> 31) {
        return a < 0 ? INT32_MIN : INT32_MAX;
    }
    return (int32_t)sum;
}

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
