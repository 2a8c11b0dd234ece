/* bits(m) of docs/arithmetic.md, section 1, and the magnitude that goes into it. */
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
