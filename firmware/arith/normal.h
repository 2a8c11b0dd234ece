/* Normal numbers by a table of their quantiles, in integers: docs/arithmetic-float32.md, section 6. */
#pragma once

#include <stdint.h>

#include "arith/random.h"

enum { NORMAL_KNOTS = 257, NORMAL_FRACTION = 21 /* bits of Z behind the point */ };

/* T: the magnitudes at the knots, in units of 2^-21. */
extern const int32_t normal_knots[NORMAL_KNOTS];

/* Z of a random word: a number from N(0, 1), in units of 2^-21. */
static inline int32_t normal_of_word(uint32_t h) {
    const uint32_t q = h | 1u;
    const uint32_t n = (uint32_t)__builtin_clz(q), m = q << n;
    const int32_t *knot = &normal_knots[8u * (31u - n) + (m >> 28 & 7u)];
    const uint32_t fall = (uint32_t)(knot[0] - knot[1]) * (m >> 14 & 0x3FFFu) >> 14;
    const int32_t z = knot[0] - (int32_t)fall;
    return (h & 1u) != 0 ? -z : z;
}

/* h of element `i` of a tensor whose stream begins with `state`. */
static inline uint32_t normal_word(uint32_t state, uint32_t i) {
    return mix32(state ^ (0x9E3779B9u * i));
}
