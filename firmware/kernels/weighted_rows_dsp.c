/* Input errors on Armv7E-M: four rows of weights, each times its error. */
#include "kernels/backward_dsp.h"

#include <stddef.h>

#include "kernels/dsp.h"

#if KERNELS_DSP

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
    "ldr r2, [r6], #4\n\tldr r3, [r7], #4\n\tldrd r0, r1, [r10]\n\t"                                                   \
    "pkhbt r4, r2, r3, lsl #16\n\tpkhtb r5, r3, r2, asr #16\n\t"                                                       \
    TWO_TAPS("r4", "r2", "r12")                                                                                        \
    "ldr r2, [r8], #4\n\tldr r3, [r9], #4\n\t"                                                                         \
    "pkhbt r4, r2, r3, lsl #16\n\tpkhtb r3, r3, r2, asr #16\n\t"                                                       \
    TWO_TAPS("r4", "r2", "lr")                                                                                         \
    "strd r0, r1, [r10], #8\n\t"                                                                                       \
    "ldrd r0, r1, [r10]\n\t"                                                                                           \
    TWO_TAPS("r5", "r2", "r12")                                                                                        \
    TWO_TAPS("r3", "r2", "lr")                                                                                         \
    "strd r0, r1, [r10], #8\n\t"

__attribute__((naked)) void weighted_runs_add(const runs_t *runs, const weighted_rows_t *rows) {
    __asm__ volatile(
        "push {r4-r11, lr}\n\t"
        "ldm r1, {r6-r9, r12, lr}\n\tldm r0, {r1-r5, r10}\n\t"
        "push {r1-r5, r10}\n\t"
        "1:\n\t" /* a run */
        "add r11, r10, r1\n\tlsrs r1, r1, #5\n\t"
        "bcs 7f\n\t" /* an odd number of fours begins in the middle */
        "beq 3f\n\t"
        "2:\n\t" FOUR_TAPS "7:\n\t" FOUR_TAPS
        "cmp r10, r11\n\tbne 2b\n\t"
        "3:\n\tldr r1, [sp, #4]\n\t"
        "cbz r1, 5f\n\tadd r11, r10, r1\n\t"
        "4:\n\t" /* one tap */
        "ldrsb r2, [r6], #1\n\tldrsb r3, [r7], #1\n\tldrsb r4, [r8], #1\n\tldrsb r5, [r9], #1\n\t"
        "ldr r0, [r10]\n\tpkhbt r2, r2, r3, lsl #16\n\tpkhbt r4, r4, r5, lsl #16\n\t"
        "smlad r0, r2, r12, r0\n\tsmlad r0, r4, lr, r0\n\tstr r0, [r10], #4\n\t"
        "cmp r10, r11\n\tbne 4b\n\t"
        "5:\n\t" /* the end of a run */
        "ldm sp, {r1-r5}\n\tadd r10, r10, r4\n\t"
        "cmp r10, r5\n\tbeq 6f\n\t"
        "add r6, r6, r3\n\tadd r7, r7, r3\n\tadd r8, r8, r3\n\tadd r9, r9, r3\n\t"
        "b 1b\n\t"
        "6:\n\tadd sp, #24\n\t"
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

/* Of four taps: the lanes of each row have the taps 0 and 2, and the taps 1 and 3. */
static inline void widen_four(const int8_t *const rows[4], uint32_t at, uint32_t negative_zero, four_weights_t *wide) {
    uint32_t first[4], second[4];
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t word = load_word(rows[i] + at);
        first[i] = add_even_lanes(negative_zero, word);
        second[i] = add_odd_lanes(negative_zero, word);
    }
    wide[0] = (four_weights_t){.even = low_lanes(first[0], first[2]), .odd = low_lanes(first[1], first[3])};
    wide[1] = (four_weights_t){.even = low_lanes(second[0], second[2]), .odd = low_lanes(second[1], second[3])};
    wide[2] = (four_weights_t){.even = high_lanes(first[0], first[2]), .odd = high_lanes(first[1], first[3])};
    wide[3] = (four_weights_t){.even = high_lanes(second[0], second[2]), .odd = high_lanes(second[1], second[3])};
}

/* The first `none` channels get weights of 0. */
static void leave_out(uint32_t none, uint32_t taps, four_weights_t *wide) {
    const uint32_t even = none == 3 ? 0 : 0xFFFF0000u, odd = none < 2 ? UINT32_MAX : 0xFFFF0000u;
    for (const four_weights_t *const end = wide + taps; wide != end; wide++) {
        wide->even &= even;
        wide->odd &= odd;
    }
}

void four_channels_widen(const int8_t *const rows[4], uint32_t taps, int8_t zero, uint32_t none, four_weights_t *wide) {
    const uint32_t lane = (uint32_t)-zero, negative_zero = low_lanes(lane, lane);
    const int8_t *const each[4] = {rows[0], rows[1], rows[2], rows[3]};
    uint32_t t = 0;
    for (; t + 4 <= taps; t += 4) {
        widen_four(each, t, negative_zero, wide + t);
    }
    for (; t < taps; t++) {
        wide[t].even = low_lanes((uint32_t)(each[0][t] - zero), (uint32_t)(each[2][t] - zero));
        wide[t].odd = low_lanes((uint32_t)(each[1][t] - zero), (uint32_t)(each[3][t] - zero));
    }
    if (none > 0) {
        leave_out(none, taps, wide);
    }
}

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(runs_t, acc_end) == 16 && sizeof(four_weights_t) == 8, "the assembly knows the fields");

/* By hand, because it needs all fourteen registers and the compiler spills: r0-r3 sums, r4-r7 weights of two taps, r8
   and r9 the errors in lanes, r10 where the weights are, r11 the end of the sums, r12 where they are, lr the end of a
   loop. */
#define LOADED(words) words
#define LEFT_OUT(words) ""
#define ADDED(sum, weights) "smlad " sum ", " weights ", r8, " sum "\n\t"
#define BEGUN(sum, weights) "smuad " sum ", " weights ", r8\n\t"

#define WIDE_TAPS(first, second, FIRST)                                                                                \
    "ldm r10!, {r4-r7}\n\t" FIRST(first, "r4") FIRST(second, "r6") "smlad " first ", r5, r9, " first                   \
                                                                   "\n\tsmlad " second ", r7, r9, " second "\n\t"

#define FOUR_CHANNELS(SUMS, FIRST)                                                                                     \
    "push {r4-r11, lr}\n\t"                                                                                            \
    "mov r10, r1\n\tmov r8, r2\n\tmov r9, r3\n\t"                                                                      \
    "ldm r0, {r0-r3, r11, r12}\n\t" /* fours, rest, row_skip, acc_skip, acc_end, acc */                                \
    "push {r0-r3}\n\t"                                                                                                 \
    "1:\n\t" /* a run */                                                                                               \
    "cbz r0, 3f\n\tadd lr, r12, r0\n\t"                                                                                \
    "2:\n\t" SUMS("ldm r12, {r0-r3}\n\t") WIDE_TAPS("r0", "r1", FIRST) WIDE_TAPS("r2", "r3", FIRST)                    \
    "stm r12!, {r0-r3}\n\t"                                                                                            \
    "cmp r12, lr\n\tbne 2b\n\t"                                                                                        \
    "3:\n\tldr r1, [sp, #4]\n\t"                                                                                       \
    "cbz r1, 5f\n\tadd lr, r12, r1\n\t"                                                                                \
    "4:\n\t" /* one tap */                                                                                             \
    SUMS("ldr r0, [r12]\n\t")                                                                                          \
    "ldm r10!, {r4, r5}\n\t" FIRST("r0", "r4")                                                                         \
    "smlad r0, r5, r9, r0\n\tstr r0, [r12], #4\n\t"                                                                    \
    "cmp r12, lr\n\tbne 4b\n\t"                                                                                        \
    "5:\n\t" /* the end of a run */                                                                                    \
    "ldm sp, {r0-r3}\n\tadd r10, r10, r2, lsl #3\n\tadd r12, r12, r3\n\t"                                              \
    "cmp r12, r11\n\tbne 1b\n\t"                                                                                       \
    "add sp, #16\n\t"                                                                                                  \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked)) void four_channels_add(const runs_t *runs, const four_weights_t *weights, uint32_t even,
                                              uint32_t odd) {
    __asm__ volatile(FOUR_CHANNELS(LOADED, ADDED));
}

__attribute__((naked)) void four_channels_begin(const runs_t *runs, const four_weights_t *weights, uint32_t even,
                                                uint32_t odd) {
    __asm__ volatile(FOUR_CHANNELS(LEFT_OUT, BEGUN));
}

#else

static void add_taps(const runs_t *runs, const four_weights_t *weights, uint32_t even, uint32_t odd, bool begins) {
    const uint32_t n = (runs->fours + runs->rest) / (uint32_t)sizeof(int32_t);
    for (int32_t *acc = runs->acc; acc != runs->acc_end;
         acc += runs->acc_skip / sizeof *acc, weights += runs->row_skip) {
        for (uint32_t j = 0; j < n; j++, acc++, weights++) {
            *acc = add_products(add_products(begins ? 0 : *acc, weights->even, even), weights->odd, odd);
        }
    }
}

void four_channels_add(const runs_t *runs, const four_weights_t *weights, uint32_t even, uint32_t odd) {
    add_taps(runs, weights, even, odd, false);
}

void four_channels_begin(const runs_t *runs, const four_weights_t *weights, uint32_t even, uint32_t odd) {
    add_taps(runs, weights, even, odd, true);
}

#endif

#endif
