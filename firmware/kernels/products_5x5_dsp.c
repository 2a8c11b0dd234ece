#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stddef.h>

#include "kernels/products_dsp.h"

static inline uint32_t pair(int32_t low, int32_t high) {
    return low_lanes((uint32_t)low, (uint32_t)high);
}

void products_5x5_weights(const int8_t *w, int8_t zero, uint32_t words[PRODUCTS_5X5_WORDS]) {
    for (uint32_t row = 0; row < 5; row++, w += 5, words += 6) {
        words[0] = pair(w[0] - zero, w[1] - zero);
        words[1] = pair(w[2] - zero, w[3] - zero);
        words[2] = pair(w[4] - zero, 0);
        words[3] = pair(0, w[0] - zero);
        words[4] = pair(w[1] - zero, w[2] - zero);
        words[5] = pair(w[3] - zero, w[4] - zero);
    }
}

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(products_5x5_t, in) == 16, "the assembly knows the fields");

/* By hand, because it needs all fourteen registers and the compiler spills: r0-r3 eight inputs, r4-r6 weights, r8-r11
   the sums, r7 where the inputs are, r12 where the weights are, lr from row to row. `first` makes the sums, the other
   rows add to them. */
#define SMUAD(sum, x, w) "smuad " sum ", " x ", " w "\n\t"
#define SMLAD(sum, x, w) "smlad " sum ", " x ", " w ", " sum "\n\t"
#define ROW(FIRST)                                                                                                     \
    "ldm r7, {r0-r3}\n\t"                                                                                              \
    "ldm r12!, {r4-r6}\n\t" FIRST("r8", "r0", "r4") SMLAD("r8", "r1", "r5") SMLAD("r8", "r2", "r6")                    \
        FIRST("r10", "r1", "r4") SMLAD("r10", "r2", "r5")                                                              \
            SMLAD("r10", "r3", "r6") "ldm r12!, {r4-r6}\n\t" FIRST("r9", "r0", "r4") SMLAD("r9", "r1", "r5")           \
                SMLAD("r9", "r2", "r6") FIRST("r11", "r1", "r4") SMLAD("r11", "r2", "r5") SMLAD("r11", "r3", "r6")
#define NEXT "add r7, r7, lr\n\t"

__attribute__((naked)) void products_5x5(const products_5x5_t *products __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r0!, {r1-r4}\n\t"
                     "push {r1-r4}\n\t"
                     "ldm r0, {r7, r12, lr}\n\t"
                     "1:\n\t"
                     ROW(SMUAD) NEXT ROW(SMLAD) NEXT ROW(SMLAD) NEXT ROW(SMLAD) NEXT ROW(SMLAD)
                     "ldm sp, {r0-r3}\n\t" /* acc, step, three_steps, acc_end */
                     "str r8, [r0]\n\tstr r9, [r0, r1]\n\tstr r10, [r0, r1, lsl #1]\n\tstr r11, [r0, r2]\n\t"
                     "add r0, r0, r1, lsl #2\n\t"
                     "str r0, [sp]\n\t"
                     "sub r12, r12, #120\n\t"
                     "sub r7, r7, lr, lsl #2\n\t"
                     "add r7, r7, #8\n\t"
                     "cmp r0, r3\n\t"
                     "bne 1b\n\t"
                     "add sp, #16\n\t"
                     "pop {r4-r11, pc}\n\t");
}

#else

static uint32_t lanes(const int16_t *in) {
    uint32_t word;
    memcpy(&word, in, sizeof word);
    return word;
}

void products_5x5(const products_5x5_t *products) {
    const int16_t *in = products->in;
    const uint32_t step = products->step / sizeof(int32_t);
    for (int32_t *acc = products->acc; acc != products->acc_end; in += 2) {
        for (uint32_t odd = 0; odd < 2; odd++, acc += step) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < 15; i++) {
                sum = add_products(sum, products->weights[i / 3 * 6 + 3 * odd + i % 3],
                                   lanes(in + i / 3 * (products->pitch / sizeof *in) + 2 * (i % 3)));
            }
            *acc = sum;
        }
    }
}

#endif

#endif
