#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/bits.h"
#include "kernels/requantize.h"

/* The magnitude without a comparison: for x < 0 the bits of x - 1 are turned over. */
static inline uint32_t magnitude_of(int32_t x) {
    const uint32_t negative = (uint32_t)(x >> 31);
    return ((uint32_t)x + negative) ^ negative;
}

int32_t largest_bits_s32(const int32_t *values, uint32_t n) {
    uint32_t any = 0; /* its highest bit is the highest of the largest magnitude */
    const int32_t *const fours = values + n / 4 * 4, *const end = values + n;
    while (values != fours) {
        int32_t four[4];
        values = take_four(values, four);
        any |= magnitude_of(four[0]) | magnitude_of(four[1]);
        any |= magnitude_of(four[2]) | magnitude_of(four[3]);
    }
    for (; values != end; values++) {
        any |= magnitude(*values);
    }
    return bits(any);
}

#endif
