/* What the kernels in binary32 have in common: docs/arithmetic-float32.md, section 1. Every operation is rounded by
   itself; no value is a NaN, an infinity or -0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arith/float32.h"
#include "kernels/shapes.h"

#define MOST_F32 0x1p40f /* H */

/* Limits of the outputs of a layer. */
typedef struct {
    float least, most;
} limits_f32_t;

/* Whether the core has no FPU, so that a product and a sum are calls, and a product with a factor 0 is worth leaving
   out. */
#if defined(__ARM_ARCH_6M__) || defined(KERNELS_THUMB1_IN_C)
#define SKIPS_ZEROS 1
#else
#define SKIPS_ZEROS 0
#endif

/* Whether a number is +0 or -0. */
static inline bool is_zero_f32(float x) {
    return float32_bits(x) << 1 == 0;
}

/* sum + a * b, the product rounded before it is added; `b` is the factor that may be 0 more often. On Cortex-M7 it is
   VMLA, one instruction in place of two. On Cortex-M4 that takes 3 cycles, and VMUL and VADD take 2 (ARM DDI 0439D,
   7.2.3). */
static inline float add_product_f32(float sum, float a, float b) {
#if defined(CORTEX_M7)
    __asm__("vmla.f32 %0, %1, %2" : "+t"(sum) : "t"(a), "t"(b));
    return sum;
#else
    if (SKIPS_ZEROS && is_zero_f32(b)) {
        return sum;
    }
    const float product = a * b;
    return sum + product;
#endif
}

static inline float clamp_f32(float v, float least, float most) {
    const float raised = v < least ? least : v;
    return raised > most ? most : raised;
}

/* Give an input the sum of its error: as its first error; or as a further one, which is added. */
static inline void give_error_f32(float *error, float sum, bool further) {
    const float own = float32_hold(sum, -MOST_F32, MOST_F32);
    *error = further ? float32_hold(*error + own, -MOST_F32, MOST_F32) : own;
}
