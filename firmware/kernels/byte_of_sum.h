/* Sums of an error that become bytes: clamp(zero + R(sum, factor), -128, 127), docs/arithmetic-affine8.md, section 7.
   Private to the DSP kernels of the format affine8. */
#pragma once

#include "arith/affine8.h"
#include "kernels/dsp_multiply.h"

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
        "1:\n\t" FOUR_BYTES FOUR_BYTES
        "2:\n\t"
        "cmp %0, %2\n\t"
        "bne 1b\n\t"
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
