#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stddef.h>

#include "kernels/backward_dsp.h"

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(runs_t, acc) == 20 && offsetof(weighted_rows_t, error) == 16, "the assembly knows the fields");

/* By hand, because it needs all fourteen registers and the compiler spills: r0 and r1 sums, r2-r5 weights, r6-r9 where
   the rows are, r10 where the sums are, r11 the end of a loop, r12 and lr the errors in lanes. Bytes of two rows are
   packed together before they are widened: PKHBT and SXTB16 give tap j of both rows in two lanes, as
   SMLAD reads them. */
#define TWO_TAPS(halves, free, errors)                                                                                 \
    "sxtb16 " free ", " halves "\n\tsxtb16 " halves ", " halves                                                        \
    ", ror #8\n\t"                                                                                                     \
    "smlad r0, " free ", " errors ", r0\n\tsmlad r1, " halves ", " errors ", r1\n\t"

#define FOUR_TAPS                                                                                                      \
    "ldr r2, [r6], #4\n\tldr r3, [r7], #4\n\t"                                        \
    "ldrd r0, r1, [r10]\n\t"                                                          \
    "pkhbt r4, r2, r3, lsl #16\n\tpkhtb r5, r3, r2, asr #16\n\t"                     \
    TWO_TAPS("r4", "r2", "r12")                                                       \
    "ldr r2, [r8], #4\n\tldr r3, [r9], #4\n\t"                                       \
    "pkhbt r4, r2, r3, lsl #16\n\tpkhtb r3, r3, r2, asr #16\n\t"                     \
    TWO_TAPS("r4", "r2", "lr")                                                        \
    "strd r0, r1, [r10], #8\n\t"                                                      \
    "ldrd r0, r1, [r10]\n\t"                                                          \
    TWO_TAPS("r5", "r2", "r12")                                                       \
    TWO_TAPS("r3", "r2", "lr")                                                        \
    "strd r0, r1, [r10], #8\n\t"

__attribute__((naked)) void weighted_runs_add(const runs_t *runs __attribute__((unused)),
                                              const weighted_rows_t *rows __attribute__((unused))) {
    __asm__ volatile(
        "push {r4-r11, lr}\n\t"
        "ldm r1, {r6-r9, r12, lr}\n\t"
        "ldm r0, {r1-r5, r10}\n\t"
        "push {r1-r5, r10}\n\t"
        "1:\n\t" /* a run */
        "add r11, r10, r1\n\t"
        "lsrs r1, r1, #5\n\t"
        "bcs 7f\n\t" /* an odd number of fours begins in the middle */
        "beq 3f\n\t"
        "2:\n\t" FOUR_TAPS "7:\n\t" FOUR_TAPS
        "cmp r10, r11\n\t"
        "bne 2b\n\t"
        "3:\n\t"
        "ldr r1, [sp, #4]\n\t"
        "cbz r1, 5f\n\t"
        "add r11, r10, r1\n\t"
        "4:\n\t" /* one tap */
        "ldrsb r2, [r6], #1\n\tldrsb r3, [r7], #1\n\tldrsb r4, [r8], #1\n\tldrsb r5, [r9], #1\n\t"
        "ldr r0, [r10]\n\t"
        "pkhbt r2, r2, r3, lsl #16\n\tpkhbt r4, r4, r5, lsl #16\n\t"
        "smlad r0, r2, r12, r0\n\tsmlad r0, r4, lr, r0\n\t"
        "str r0, [r10], #4\n\t"
        "cmp r10, r11\n\t"
        "bne 4b\n\t"
        "5:\n\t" /* the end of a run */
        "ldm sp, {r1-r5}\n\t"
        "add r10, r10, r4\n\t"
        "cmp r10, r5\n\t"
        "beq 6f\n\t"
        "add r6, r6, r3\n\tadd r7, r7, r3\n\tadd r8, r8, r3\n\tadd r9, r9, r3\n\t"
        "b 1b\n\t"
        "6:\n\t"
        "add sp, #24\n\t"
        "pop {r4-r11, pc}\n\t");
}

#else

void weighted_runs_add(const runs_t *runs, const weighted_rows_t *rows) {
    const uint32_t n = (runs->fours + runs->rest) / (uint32_t)sizeof(int32_t);
    uint32_t from = 0;
    for (int32_t *acc = runs->acc; acc != runs->acc_end; acc += runs->acc_skip / sizeof *acc, from += runs->row_skip) {
        for (uint32_t j = 0; j < n; j++, from++) {
            for (uint32_t i = 0; i < WEIGHTED_ROWS; i++) {
                *acc = (int32_t)((uint32_t)*acc + (uint32_t)(rows->error[i] * rows->row[i][from]));
            }
            acc++;
        }
    }
}

#endif

#endif
