/* Sums of the format affine8: along rows, their extent while they come, and what bytes they become. Private to the
   kernels of the format affine8. */
#pragma once

#include <stdbool.h>

#include "kernels/affine8.h"
#include "kernels/dsp.h"

/* The sum of x[i] * (w[i] - zero). */
static inline int32_t affine8_dot(const int8_t *x, const int8_t *w, int32_t zero, uint32_t n) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * (w[i] - zero);
    }
    return sum;
}

/* sums[i] += factor * (values[i] - zero), modulo 2^32. */
static inline void affine8_add_row(const int8_t *values, int32_t zero, int32_t factor, uint32_t n, int32_t *sums) {
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(factor * (values[i] - zero)));
    }
}

/* lift = -least, the least sum being at most 0; and how far above the least the largest sum is. */
typedef struct {
    int32_t lift;
    uint32_t width;
} affine8_spread_t;

/* Take in a sum, which is so far above the least. One comparison without sign finds a sum outside, which few are. */
static inline void affine8_include_above(affine8_spread_t *spread, uint32_t above) {
    if (__builtin_expect(above > spread->width, 0)) {
        const int32_t sum = (int32_t)(above - (uint32_t)spread->lift);
        if (sum < -spread->lift) {
            spread->width -= above;
            spread->lift = -sum;
        } else {
            spread->width = above;
        }
    }
}

/* Whether a sum is among those so far. */
static inline bool affine8_is_within(const affine8_spread_t *spread, int32_t sum) {
    return (uint32_t)sum + (uint32_t)spread->lift <= spread->width;
}

static inline void affine8_include(affine8_spread_t *spread, int32_t sum) {
    affine8_include_above(spread, (uint32_t)sum + (uint32_t)spread->lift);
}

static inline affine8_extent_t affine8_extent_of(const affine8_spread_t *spread) {
    return (affine8_extent_t){.least = -spread->lift, .most = (int32_t)(spread->width - (uint32_t)spread->lift)};
}

/* An error: clamp(zero + R(sum, factor), -128, 127), docs/arithmetic-affine8.md, section 7. */

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

/* quick_byte() of the sums up to `end`, some eights, which no byte cuts off. `out` may begin where the sums do. Returns
   where the byte after them goes. Less -128 a byte has no sign, and nothing above its eight bits. */
#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

#define FOUR_BYTES                                                                                                     \
    "ldm %0!, {r4-r6, r8}\n\t"                                                                                         \
    "smmlar r4, r4, %3, %4\n\tsmmlar r5, r5, %3, %4\n\tsmmlar r6, r6, %3, %4\n\tsmmlar r8, r8, %3, %4\n\t"             \
    "orr r4, r4, r5, lsl #8\n\torr r6, r6, r8, lsl #8\n\torr r4, r4, r6, lsl #16\n\t"                                  \
    "eor r4, r4, %5\n\t"                                                                                               \
    "str r4, [%1], #4\n\t"

static inline int8_t *pack_bytes_within(const int32_t *sums, const int32_t *end, int32_t multiplier, int32_t zero,
                                        int8_t *out) {
    __asm__ volatile(
        "b 2f\n\t"
        "1:\n\t" FOUR_BYTES FOUR_BYTES "2:\n\tcmp %0, %2\n\tbne 1b\n\t"
        : "+r"(sums), "+r"(out)
        : "r"(end), "r"(multiplier), "r"(zero - INT8_MIN), "r"(0x80808080u)
        : "r4", "r5", "r6", "r8", "cc", "memory");
    return out;
}

#undef FOUR_BYTES

#else

static inline int8_t *pack_bytes_within(const int32_t *sums, const int32_t *end, int32_t multiplier, int32_t zero,
                                        int8_t *out) {
    while (sums != end) {
        uint32_t word = 0;
        for (uint32_t i = 0; i < 4; i++) {
            word |= (uint32_t)sum_of_nearest_product(zero - INT8_MIN, *sums++, multiplier) << 8 * i;
        }
        store_word(out, word ^ 0x80808080u);
        out += 4;
    }
    return out;
}

#endif

static inline int8_t any_byte(int32_t sum, affine8_factor_t factor, int32_t zero) {
    return (int8_t)as_byte(zero + affine8_rescale(sum, factor));
}
