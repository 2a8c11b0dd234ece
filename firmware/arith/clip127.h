/* clip127, clipW and sat32 of docs/arithmetic.md, section 1. */
#pragma once

#include <stdint.h>

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
