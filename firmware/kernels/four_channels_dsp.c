#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stddef.h>

#include "kernels/backward_dsp.h"

void four_channels_widen(const int8_t *const rows[4], uint32_t taps, int8_t zero, uint32_t none, four_weights_t *wide) {
    const int8_t *w0 = rows[0], *w1 = rows[1], *w2 = rows[2], *w3 = rows[3];
    const uint32_t even = none == 0   ? UINT32_MAX
                          : none == 3 ? 0
                                      : 0xFFFF0000u,
                   odd = none < 2 ? UINT32_MAX : 0xFFFF0000u;
    for (const four_weights_t *const end = wide + taps; wide != end; wide++) {
        wide->even = low_lanes((uint32_t)(*w0++ - zero), (uint32_t)(*w2++ - zero)) & even;
        wide->odd = low_lanes((uint32_t)(*w1++ - zero), (uint32_t)(*w3++ - zero)) & odd;
    }
}

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(runs_t, acc_end) == 16 && sizeof(four_weights_t) == 8, "the assembly knows the fields");

/* By hand, because it needs all fourteen registers and the compiler spills: r0-r3 sums, r4-r7 weights of two taps, r8
   and r9 the errors in lanes, r10 where the weights are, r11 the end of the sums, r12 where they are, lr the end of a
   loop. */
#define TWO_TAPS(first, second)                                                                                        \
    "ldm r10!, {r4-r7}\n\t"                                                                                            \
    "smlad " first ", r4, r8, " first "\n\tsmlad " second ", r6, r8, " second                                          \
    "\n\t"                                                                                                             \
    "smlad " first ", r5, r9, " first "\n\tsmlad " second ", r7, r9, " second "\n\t"

__attribute__((naked)) void four_channels_add(const runs_t *runs __attribute__((unused)),
                                              const four_weights_t *weights __attribute__((unused)),
                                              uint32_t even __attribute__((unused)),
                                              uint32_t odd __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r10, r1\n\t"
                     "mov r8, r2\n\t"
                     "mov r9, r3\n\t"
                     "ldm r0, {r0-r3, r11, r12}\n\t" /* fours, rest, row_skip, acc_skip, acc_end, acc */
                     "push {r0-r3}\n\t"
                     "1:\n\t" /* a run */
                     "cbz r0, 3f\n\t"
                     "add lr, r12, r0\n\t"
                     "2:\n\t"
                     "ldm r12, {r0-r3}\n\t"
                     TWO_TAPS("r0", "r1") TWO_TAPS("r2", "r3")
                     "stm r12!, {r0-r3}\n\t"
                     "cmp r12, lr\n\t"
                     "bne 2b\n\t"
                     "3:\n\t"
                     "ldr r1, [sp, #4]\n\t"
                     "cbz r1, 5f\n\t"
                     "add lr, r12, r1\n\t"
                     "4:\n\t" /* one tap */
                     "ldr r0, [r12]\n\t"
                     "ldm r10!, {r4, r5}\n\t"
                     "smlad r0, r4, r8, r0\n\tsmlad r0, r5, r9, r0\n\t"
                     "str r0, [r12], #4\n\t"
                     "cmp r12, lr\n\t"
                     "bne 4b\n\t"
                     "5:\n\t" /* the end of a run */
                     "ldm sp, {r0-r3}\n\t"
                     "add r10, r10, r2, lsl #3\n\t"
                     "add r12, r12, r3\n\t"
                     "cmp r12, r11\n\t"
                     "bne 1b\n\t"
                     "add sp, #16\n\t"
                     "pop {r4-r11, pc}\n\t");
}

#else

void four_channels_add(const runs_t *runs, const four_weights_t *weights, uint32_t even, uint32_t odd) {
    const uint32_t n = (runs->fours + runs->rest) / (uint32_t)sizeof(int32_t);
    for (int32_t *acc = runs->acc; acc != runs->acc_end;
         acc += runs->acc_skip / sizeof *acc, weights += runs->row_skip) {
        for (uint32_t j = 0; j < n; j++, acc++, weights++) {
            *acc = add_products(add_products(*acc, weights->even, even), weights->odd, odd);
        }
    }
}

#endif

#endif
