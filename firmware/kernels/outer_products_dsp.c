#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stddef.h>

#include "kernels/backward_dsp.h"

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(outer_products_t, negative_zero) == 32, "the assembly knows the fields");

/* By hand, for LDM and STM of four sums: r0-r3 sums, r4 inputs 1 and 3, r5 inputs 0 and 2, r6 where the inputs are, r7
   their end, r8-r11 where the rows are, r12 and lr the errors. */
#define ROW(from, half, errors)                                                                                        \
    "ldm " from                                                                                                        \
    ", {r0-r3}\n\t"                                                                                                    \
    "smlab" half " r0, r5, " errors ", r0\n\tsmlab" half " r1, r4, " errors                                            \
    ", r1\n\t"                                                                                                         \
    "smlat" half " r2, r5, " errors ", r2\n\tsmlat" half " r3, r4, " errors                                            \
    ", r3\n\t"                                                                                                         \
    "stm " from "!, {r0-r3}\n\t"

#define PRODUCTS(widen)                                                                                                \
    "push {r4-r11, lr}\n\t" \
    "ldr r1, [r0, #32]\n\t" \
    "push {r1}\n\t" \
    "ldm r0, {r6-r12, lr}\n\t" \
    "1:\n\t" \
    "ldr r4, [r6], #4\n\t" widen \
    ROW("r8", "b", "r12") ROW("r9", "t", "r12") ROW("r10", "b", "lr") ROW("r11", "t", "lr") \
    "cmp r6, r7\n\t" \
    "bne 1b\n\t" \
    "add sp, #4\n\t" \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked)) void outer_products(const outer_products_t *products __attribute__((unused))) {
    __asm__ volatile(PRODUCTS("sxtb16 r5, r4\n\tsxtb16 r4, r4, ror #8\n\t"));
}

__attribute__((naked)) void outer_products_from(const outer_products_t *products __attribute__((unused))) {
    __asm__ volatile(PRODUCTS("ldr r0, [sp]\n\tsxtab16 r5, r0, r4\n\tsxtab16 r4, r0, r4, ror #8\n\t"));
}

#else

static void add_products_of(const outer_products_t *products, int32_t zero) {
    const uint32_t n = (uint32_t)(products->end - products->in);
    for (uint32_t i = 0; i < OUTER_ROWS; i++) {
        const int16_t error = (int16_t)(products->errors[i / 2] >> (16 * (i % 2)) & 0xFFFFu);
        for (uint32_t j = 0; j < n; j++) {
            int32_t *const sum = &products->row[i][j];
            *sum = (int32_t)((uint32_t)*sum + (uint32_t)(error * (products->in[j] + zero)));
        }
    }
}

void outer_products(const outer_products_t *products) {
    add_products_of(products, 0);
}

void outer_products_from(const outer_products_t *products) {
    add_products_of(products, (int16_t)(products->negative_zero & 0xFFFFu));
}

#endif

#endif
