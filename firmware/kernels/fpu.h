/* Whether the core has an FPU for binary32, and its product with a sum: the kernels in `*_fpu.c` hold a block of sums
   in its 32 registers. With KERNELS_DSP_IN_C they are built for a computer without that core, which checks them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if (defined(__arm__) && defined(__ARM_FP)) || defined(KERNELS_DSP_IN_C)
#define KERNELS_FPU 1
#else
#define KERNELS_FPU 0
#endif

/* sum + a * b, the product rounded before it is added: on Cortex-M7 VMLA, one instruction in place of two. On
   Cortex-M4 it takes 3 cycles, and VMUL and VADD 2 (ARM DDI 0439D, 7.2.3). */
static inline float multiply_add_f32(float sum, float a, float b) {
#if defined(CORTEX_M7)
    __asm__("vmla.f32 %0, %1, %2" : "+t"(sum) : "t"(a), "t"(b));
    return sum;
#else
    const float product = a * b;
    return sum + product;
#endif
}

static inline uint32_t least_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
