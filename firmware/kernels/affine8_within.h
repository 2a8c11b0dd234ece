/* Sums that change nothing in an extent, as nearly all do. Private to the kernels of the format affine8. */
#pragma once

#include "kernels/affine8_spread.h"
#include "kernels/dsp.h"

/* The first four of the sums up to `end`, some fours, that are not all within an extent, or `end`. */
#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

static inline const int32_t *affine8_skip_within(const int32_t *sums, const int32_t *end,
                                                 const affine8_spread_t *spread) {
    __asm__ volatile(
        "1:\n\t"
        "cmp %0, %1\n\t"
        "beq 3f\n\t"
        "ldm %0!, {r4-r6, r8}\n\t"
        "add r4, %2\n\tcmp r4, %3\n\tbhi 2f\n\t"
        "add r5, %2\n\tcmp r5, %3\n\tbhi 2f\n\t"
        "add r6, %2\n\tcmp r6, %3\n\tbhi 2f\n\t"
        "add r8, %2\n\tcmp r8, %3\n\tbls 1b\n\t"
        "2:\n\t"
        "subs %0, #16\n\t"
        "3:\n\t"
        : "+l"(sums)
        : "r"(end), "r"(spread->lift), "r"(spread->width)
        : "r4", "r5", "r6", "r8", "cc", "memory");
    return sums;
}

#else

static inline const int32_t *affine8_skip_within(const int32_t *sums, const int32_t *end,
                                                 const affine8_spread_t *spread) {
    while (sums != end && affine8_is_within(spread, sums[0]) && affine8_is_within(spread, sums[1]) &&
           affine8_is_within(spread, sums[2]) && affine8_is_within(spread, sums[3])) {
        sums += 4;
    }
    return sums;
}

#endif
