/* Whether the core has an FPU for binary32: the kernels in `*_fpu.c` hold a block of sums in its 32 registers. With
   KERNELS_DSP_IN_C they are built for a computer without that core, which checks them. */
#pragma once

#include <stdint.h>

#if (defined(__arm__) && defined(__ARM_FP)) || defined(KERNELS_DSP_IN_C)
#define KERNELS_FPU 1
#else
#define KERNELS_FPU 0
#endif

static inline uint32_t least_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
