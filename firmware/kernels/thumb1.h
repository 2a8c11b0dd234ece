/* Whether the core is one that the kernels in `*_m0.c` are for: Armv6-M, that is Thumb instructions of 16 bits only,
   eight registers that can compute, MULS of 32 bits and no SIMD (ARM DDI 0419E, A5). With KERNELS_THUMB1_IN_C their
   assembly is written in C, so that a computer without that core runs and checks the same kernels. Private to the
   kernels. */
#pragma once

#if defined(__ARM_ARCH_6M__) || defined(KERNELS_THUMB1_IN_C)
#define KERNELS_THUMB1 1
#else
#define KERNELS_THUMB1 0
#endif
