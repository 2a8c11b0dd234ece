/* R and D of docs/arithmetic-qzo-ff.md, section 1: roundings half away from zero. */
#pragma once

#include <stdint.h>

#include "arith/float32.h"
#include "arith/integers.h"

enum { LARGEST_STEP = 1 << 30 /* that D returns */ };

/* x / 2^n, half away from zero, n in 1..31, |x| <= 2^30. */
static inline int32_t round_away(int32_t x, int32_t n) {
    const int32_t half = 1 << (n - 1);
    return x < 0 ? -((half - x) >> n) : (x + half) >> n;
}

/* D(g, f): g * f rounded, held in +-LARGEST_STEP, for g in 0..127; 0 where f is not a normal number. */
static inline int32_t rounded_step(uint32_t g, float f) {
    const uint32_t word = float32_bits(f);
    const int32_t n = 150 - (int32_t)(word >> 23); /* f = mant * 2^-n */
    const uint64_t product = (uint64_t)g * ((word & 0x007FFFFFu) | 0x00800000u);
    if (!(f >= FLT_MIN) || n > 62) {
        return 0;
    }
    const uint64_t step = n <= 0 ? product << (n > -31 ? -n : 31) : (product + (UINT64_C(1) << (n - 1))) >> n;
    return step < LARGEST_STEP ? (int32_t)step : LARGEST_STEP;
}
