/* Sums that change nothing in an extent, as nearly all do. Private to the kernels of the format affine8. */
#pragma once

#include "kernels/affine8_spread.h"
#include "kernels/dsp.h"

/* The first eight of the sums up to `end`, some eights, that are not all within an extent, or `end`. */
#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

static inline const int32_t *affine8_skip_within(const int32_t *sums, const int32_t *end,
                                                 const affine8_spread_t *spread) {
    __asm__ volatile(
        "1:\n\t"
        "cmp %0, %1\n\t"
        "beq 3f\n\t"
        "ldm %0!, {r4-r11}\n\t"
        "add r4, %2\n\tadd r5, %2\n\tadd r6, %2\n\tadd r7, %2\n\t"
        "add r8, %2\n\tadd r9, %2\n\tadd r10, %2\n\tadd r11, %2\n\t"
        "cmp r4, %3\n\t" /* and so on, while they are within */
        "itttt ls\n\tcmpls r5, %3\n\tcmpls r6, %3\n\tcmpls r7, %3\n\tcmpls r8, %3\n\t"
        "ittt ls\n\tcmpls r9, %3\n\tcmpls r10, %3\n\tcmpls r11, %3\n\t"
        "bls 1b\n\t"
        "subs %0, #32\n\t"
        "3:\n\t"
        : "+l"(sums)
        : "r"(end), "r"(spread->lift), "r"(spread->width)
        : "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "cc", "memory");
    return sums;
}

#else

static inline const int32_t *affine8_skip_within(const int32_t *sums, const int32_t *end,
                                                 const affine8_spread_t *spread) {
    while (sums != end) {
        for (uint32_t i = 0; i < 8; i++) {
            if (!affine8_is_within(spread, sums[i])) {
                return sums;
            }
        }
        sums += 8;
    }
    return sums;
}

#endif
