/* Sums of products for the forward passes on Armv7E-M. */
#include "kernels/products_dsp.h"

#include <stddef.h>

#include "kernels/dsp.h"

#if KERNELS_DSP

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(products_2x2_t, acc) == 20 && offsetof(products_2x2_t, groups) == 48,
               "the assembly knows the fields");

/* By hand, because a block needs all fourteen registers and the compiler spills: r0-r3 weights, r4 and r5 inputs, r6
   and r7 where the two positions are, r8 where the weights are, r9-r12 the sums, lr turns. A group of four taps is 11
   instructions for 16 products. Four groups are unrolled; the first turn begins where only the rest of a division by
   four is left. The fields that no register can hold are copied to the stack. All instructions of a group have 32 bits,
   so that it can be entered by its number. */
#define GROUP_2X2(load_inputs)                                                                                         \
    "ldm r8!, {r0-r3}\n\t" load_inputs("r6")                                                                           \
    "smlad r9, r0, r4, r9\n\tsmlad r10, r2, r4, r10\n\t"                                                               \
    "smlad r9, r1, r5, r9\n\tsmlad r10, r3, r5, r10\n\t"                                                               \
    load_inputs("r7")                                                                                                  \
    "smlad r11, r0, r4, r11\n\tsmlad r12, r2, r4, r12\n\t"                                                             \
    "smlad r11, r1, r5, r11\n\tsmlad r12, r3, r5, r12\n\t"

#define INPUTS_BY_TWO(from) "ldrd r4, r5, [" from "], #8\n\t"
#define INPUTS_BY_ONE(from) "ldr r4, [" from "], #4\n\tldr r5, [" from "], #4\n\t"

#define PRODUCTS_2X2(load_inputs, group_bytes)                                                                         \
    "push {r4-r11, lr}\n\t"                                                                                            \
    "sub sp, #48\n\t"                                                                                                  \
    "ldm r0!, {r1-r12}\n\tstm sp, {r1-r12}\n\t"                                                                        \
    "ldm r0, {r4-r7}\n\t" /* groups, half, positions */                                                                \
    "adr.w r1, 3f\n\trsb r2, r4, #0\n\tand r2, r2, #3\n\t"                                                             \
    "mov r3, #" group_bytes "\n\t"                                                                                     \
    "mla r1, r2, r3, r1\n\tadr.w r2, 4f\n\t"                                                                           \
    "cmp r4, #0\n\tit eq\n\tmoveq r1, r2\n\tadr.w r2, 2f\n\t"                                                          \
    "cmp r5, #0\n\tit eq\n\tmoveq r2, r1\n\t"                                                                          \
    "orr r1, r1, #1\n\torr r2, r2, #1\n\tstrd r2, r1, [sp, #8]\n\t"                                                    \
    "1:\n\t" /* a pair of positions */                                                                                 \
    "ldr r8, [sp, #44]\n\t"                                                                                            \
    "mov r9, #0\n\tmov r10, #0\n\tmov r11, #0\n\tmov r12, #0\n\t"                                                      \
    "ldm sp, {r0-r3, lr}\n\tbx r2\n\t"                                                                                 \
    "2:\n\t" /* the two taps before the groups */                                                                      \
    "ldm r8!, {r0, r1}\n\tldr r4, [r6], #4\n\tldr r5, [r7], #4\n\t"                                                    \
    "smlad r9, r0, r4, r9\n\tsmlad r10, r1, r4, r10\n\t"                                                               \
    "smlad r11, r0, r5, r11\n\tsmlad r12, r1, r5, r12\n\tbx r3\n\t"                                                    \
    ".balign 4\n\t"                                                                                                    \
    "3:\n\t"                                                                                                           \
    GROUP_2X2(load_inputs) GROUP_2X2(load_inputs) GROUP_2X2(load_inputs) GROUP_2X2(load_inputs)                        \
    "subs lr, lr, #1\n\tbne 3b\n\t"                                                                                    \
    "4:\n\t" /* the end of a row */                                                                                    \
    "ldm sp, {r0-r3, lr}\n\tadd r6, r6, r0\n\tadd r7, r7, r0\n\t"                                                      \
    "cmp r8, r1\n\tbeq 5f\n\t"                                                                                         \
    "bx r2\n\t"                                                                                                        \
    "5:\n\t" /* the end of a window */                                                                                 \
    "ldrd r0, r1, [sp, #20]\n\tldrd r2, r3, [sp, #28]\n\tadd r2, r2, r0\n\t"                                           \
    "str r10, [r0, r1]\n\tstr r9, [r0]\n\tstr r12, [r2, r1]\n\tstr r11, [r2]\n\t"                                      \
    "add r6, r6, r3\n\tadd r7, r7, r3\n\t"                                                                             \
    "ldrd r1, r2, [sp, #36]\n\tadd r0, r0, r1\n\tstr r0, [sp, #20]\n\t"                                                \
    "cmp r0, r2\n\tbne 1b\n\t"                                                                                         \
    "add sp, #48\n\t"                                                                                                  \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked)) void products_2x2(const products_2x2_t *products) {
    __asm__ volatile(PRODUCTS_2X2(INPUTS_BY_ONE, "52"));
}

__attribute__((naked)) void products_2x2_aligned(const products_2x2_t *products) {
    __asm__ volatile(PRODUCTS_2X2(INPUTS_BY_TWO, "44"));
}

#else

enum { BYTES = sizeof(int16_t) };

static uint32_t lanes(const int16_t *in) {
    uint32_t word;
    memcpy(&word, in, sizeof word);
    return word;
}

/* `words` words of weights of each channel, over as many of inputs. */
static void add_words(const int16_t *in[2], const uint32_t **weights, uint32_t words, int32_t sum[4]) {
    for (uint32_t i = 0; i < words; i++) {
        for (uint32_t s = 0; s < 4; s++) {
            sum[s] = add_products(sum[s], (*weights)[s % 2 * words + i], lanes(in[s / 2] + 2 * i));
        }
    }
    *weights += 2 * words;
    in[0] += 2 * words;
    in[1] += 2 * words;
}

static void sum_window(const products_2x2_t *p, const int16_t *in[2], int32_t sum[4]) {
    for (const uint32_t *weights = p->weights; weights != p->weights_end;) {
        if (p->half != 0) {
            add_words(in, &weights, 1, sum);
        }
        for (uint32_t i = 0; i < p->groups; i++) {
            add_words(in, &weights, 2, sum);
        }
        in[0] += p->gap / BYTES;
        in[1] += p->gap / BYTES;
    }
}

void products_2x2(const products_2x2_t *products) {
    const int16_t *in[2] = {products->in[0], products->in[1]};
    for (int32_t *acc = products->acc; acc != products->acc_end; acc += products->acc_step / sizeof *acc) {
        int32_t sum[4] = {0};
        sum_window(products, in, sum);
        int32_t *const second = acc + products->to_position / sizeof *acc;
        const uint32_t channel = products->to_channel / sizeof *acc;
        acc[channel] = sum[1];
        acc[0] = sum[0];
        second[channel] = sum[3];
        second[0] = sum[2];
        in[0] += products->rewind / BYTES;
        in[1] += products->rewind / BYTES;
    }
}

void products_2x2_aligned(const products_2x2_t *products) {
    products_2x2(products);
}

#endif

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
#define ROW_5X5(FIRST)                                                                                                 \
    "ldm r7, {r0-r3}\n\t"                                                                                              \
    "ldm r12!, {r4-r6}\n\t" FIRST("r8", "r0", "r4") SMLAD("r8", "r1", "r5") SMLAD("r8", "r2", "r6")                    \
        FIRST("r10", "r1", "r4") SMLAD("r10", "r2", "r5")                                                              \
            SMLAD("r10", "r3", "r6") "ldm r12!, {r4-r6}\n\t" FIRST("r9", "r0", "r4") SMLAD("r9", "r1", "r5")           \
                SMLAD("r9", "r2", "r6") FIRST("r11", "r1", "r4") SMLAD("r11", "r2", "r5") SMLAD("r11", "r3", "r6")
#define NEXT "add r7, r7, lr\n\t"

__attribute__((naked)) void products_5x5(const products_5x5_t *products) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r0!, {r1-r4}\n\t"
                     "push {r1-r4}\n\t"
                     "ldm r0, {r7, r12, lr}\n\t"
                     "1:\n\t"
                     ROW_5X5(SMUAD) NEXT ROW_5X5(SMLAD) NEXT ROW_5X5(SMLAD) NEXT ROW_5X5(SMLAD) NEXT ROW_5X5(SMLAD)
                     "ldm sp, {r0-r3}\n\t" /* acc, step, three_steps, acc_end */
                     "str r8, [r0]\n\tstr r9, [r0, r1]\n\tstr r10, [r0, r1, lsl #1]\n\tstr r11, [r0, r2]\n\t"
                     "add r0, r0, r1, lsl #2\n\tstr r0, [sp]\n\t"
                     "sub r12, r12, #120\n\tsub r7, r7, lr, lsl #2\n\tadd r7, r7, #8\n\t"
                     "cmp r0, r3\n\tbne 1b\n\t"
                     "add sp, #16\n\t"
                     "pop {r4-r11, pc}\n\t");
}

#else

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

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(products_rows_t, groups) == 20, "the assembly knows the fields");

/* By hand, because it needs all fourteen registers and the compiler spills: r0-r3 eight inputs, r4 and r5 eight
   weights, r6 two of them, r7 and r8 where both rows are, r9 and r10 their sums, r11 where those go, r12 where the
   inputs are, lr turns. Four groups are unrolled; the first turn begins where only the rest of a division by four is
   left. All instructions of a group have 32 bits, so that it can be entered by its number. */
#define ROW_OF_EIGHT(load_weights, from, sum)                                                                          \
    load_weights(from) "sxtb16 r6, r4\n\tsmlad " sum ", r6, r0, " sum "\n\tsxtb16 r6, r4, ror #8\n\tsmlad " sum        \
                       ", r6, r1, " sum                                                                                \
                       "\n\t"                                                                                          \
                       "sxtb16 r6, r5\n\tsmlad " sum ", r6, r2, " sum "\n\tsxtb16 r6, r5, ror #8\n\tsmlad " sum        \
                       ", r6, r3, " sum "\n\t"

#define WEIGHTS_BY_TWO(from) "ldrd r4, r5, [" from "], #8\n\t"
#define WEIGHTS_BY_ONE(from) "ldr r4, [" from "], #4\n\tldr r5, [" from "], #4\n\t"
#define GROUP_ROWS(load_weights)                                                                                       \
    "ldm r12!, {r0-r3}\n\t" ROW_OF_EIGHT(load_weights, "r7", "r9") ROW_OF_EIGHT(load_weights, "r8", "r10")

#define PRODUCTS_ROWS(load_weights, group_bytes)                                                                       \
    "push {r4-r11, lr}\n\t"                                                                                            \
    "ldm r0!, {r1-r6}\n\tldm r0, {r7, r8, r11}\n\trsb r6, r6, #0\n\tand r6, r6, #3\n\t"                                \
    "mov r0, #" group_bytes "\n\t"                                                                                     \
    "adr.w r4, 2f\n\tmla r4, r6, r0, r4\n\torr r4, r4, #1\n\t"                                                         \
    "push {r1-r5, r6}\n\t"                                                                                             \
    "1:\n\t" /* two rows */                                                                                            \
    "ldm sp, {r0-r4}\n\tmov r12, r0\n\tmov lr, r4\n\t"                                                                 \
    "ldrd r9, r10, [r11]\n\tbx r3\n\t"                                                                                 \
    ".balign 4\n\t"                                                                                                    \
    "2:\n\t"                                                                                                           \
    GROUP_ROWS(load_weights) GROUP_ROWS(load_weights) GROUP_ROWS(load_weights) GROUP_ROWS(load_weights)                \
    "subs lr, lr, #1\n\tbne 2b\n\t"                                                                                    \
    "strd r9, r10, [r11], #8\n\t"                                                                                      \
    "ldrd r0, r1, [sp, #4]\n\tadd r7, r7, r0\n\tadd r8, r8, r0\n\t"                                                    \
    "cmp r11, r1\n\tbne 1b\n\t"                                                                                        \
    "add sp, #24\n\t"                                                                                                  \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked)) void products_rows(const products_rows_t *products) {
    __asm__ volatile(PRODUCTS_ROWS(WEIGHTS_BY_ONE, "84"));
}

__attribute__((naked)) void products_rows_aligned(const products_rows_t *products) {
    __asm__ volatile(PRODUCTS_ROWS(WEIGHTS_BY_TWO, "76"));
}

#else

static int32_t product(const int8_t *row, const uint32_t *lanes, uint32_t n) {
    int32_t sum = 0;
    for (; n > 0; n -= 4, row += 4, lanes += 2) {
        const uint32_t word = load_word(row);
        sum = add_products(add_products(sum, even_lanes(word), lanes[0]), odd_lanes(word), lanes[1]);
    }
    return sum;
}

void products_rows(const products_rows_t *products) {
    const uint32_t n = products->groups * PRODUCTS_ROWS_GROUP;
    const uint32_t to_next = n + products->step;
    const int8_t *first = products->row[0], *second = products->row[1];
    for (int32_t *acc = products->acc; acc != products->acc_end; acc += 2, first += to_next, second += to_next) {
        acc[0] += product(first, products->lanes, n);
        acc[1] += product(second, products->lanes, n);
    }
}

void products_rows_aligned(const products_rows_t *products) {
    products_rows(products);
}

#endif

#endif
