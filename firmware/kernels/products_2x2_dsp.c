#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stddef.h>

#include "kernels/products_dsp.h"

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(products_2x2_t, acc) == 20 && offsetof(products_2x2_t, groups) == 48,
               "the assembly knows the fields");

/* By hand, because a block needs all fourteen registers and the compiler spills: r0-r3 weights, r4 and r5 inputs, r6
   and r7 where the two positions are, r8 where the weights are, r9-r12 the sums, lr turns. A group of four taps is 11
   instructions for 16 products. Four groups are unrolled; the first turn begins where only the rest of a division by
   four is left. The fields that no register can hold are copied to the stack. All instructions of a group have 32 bits,
   so that it can be entered by its number. */
#define GROUP(load_inputs)                                                                                             \
    "ldm r8!, {r0-r3}\n\t" load_inputs("r6")                       \
    "smlad r9, r0, r4, r9\n\tsmlad r10, r2, r4, r10\n\t"           \
    "smlad r9, r1, r5, r9\n\tsmlad r10, r3, r5, r10\n\t"           \
    load_inputs("r7")                                              \
    "smlad r11, r0, r4, r11\n\tsmlad r12, r2, r4, r12\n\t"         \
    "smlad r11, r1, r5, r11\n\tsmlad r12, r3, r5, r12\n\t"

#define BY_TWO_WORDS(from) "ldrd r4, r5, [" from "], #8\n\t"
#define BY_ONE_WORD(from) "ldr r4, [" from "], #4\n\tldr r5, [" from "], #4\n\t"

#define PRODUCTS(load_inputs, group_bytes)                                                                             \
    "push {r4-r11, lr}\n\t"                                                                     \
    "sub sp, #48\n\t"                                                                           \
    "ldm r0!, {r1-r12}\n\t"                                                                     \
    "stm sp, {r1-r12}\n\t"                                                                      \
    "ldm r0, {r4-r7}\n\t" /* groups, half, positions */                                         \
    "adr.w r1, 3f\n\t"                                                                          \
    "rsb r2, r4, #0\n\t"                                                                        \
    "and r2, r2, #3\n\t"                                                                        \
    "mov r3, #" group_bytes "\n\t"                                                              \
    "mla r1, r2, r3, r1\n\t"                                                                    \
    "adr.w r2, 4f\n\t"                                                                          \
    "cmp r4, #0\n\tit eq\n\tmoveq r1, r2\n\t"                                                   \
    "adr.w r2, 2f\n\t"                                                                          \
    "cmp r5, #0\n\tit eq\n\tmoveq r2, r1\n\t"                                                   \
    "orr r1, r1, #1\n\torr r2, r2, #1\n\t"                                                      \
    "strd r2, r1, [sp, #8]\n\t"                                                                 \
    "1:\n\t" /* a pair of positions */                                                          \
    "ldr r8, [sp, #44]\n\t"                                                                     \
    "mov r9, #0\n\tmov r10, #0\n\tmov r11, #0\n\tmov r12, #0\n\t"                               \
    "ldm sp, {r0-r3, lr}\n\t"                                                                   \
    "bx r2\n\t"                                                                                 \
    "2:\n\t" /* the two taps before the groups */                                               \
    "ldm r8!, {r0, r1}\n\tldr r4, [r6], #4\n\tldr r5, [r7], #4\n\t"                             \
    "smlad r9, r0, r4, r9\n\tsmlad r10, r1, r4, r10\n\t"                                        \
    "smlad r11, r0, r5, r11\n\tsmlad r12, r1, r5, r12\n\t"                                      \
    "bx r3\n\t"                                                                                 \
    ".balign 4\n\t"                                                                             \
    "3:\n\t"                                                                                    \
    GROUP(load_inputs) GROUP(load_inputs) GROUP(load_inputs) GROUP(load_inputs)                 \
    "subs lr, lr, #1\n\t"                                                                       \
    "bne 3b\n\t"                                                                                \
    "4:\n\t" /* the end of a row */                                                             \
    "ldm sp, {r0-r3, lr}\n\t"                                                                   \
    "add r6, r6, r0\n\tadd r7, r7, r0\n\t"                                                      \
    "cmp r8, r1\n\t"                                                                            \
    "beq 5f\n\t"                                                                                \
    "bx r2\n\t"                                                                                 \
    "5:\n\t" /* the end of a window */                                                          \
    "ldrd r0, r1, [sp, #20]\n\tldrd r2, r3, [sp, #28]\n\t"                                      \
    "add r2, r2, r0\n\t"                                                                        \
    "str r10, [r0, r1]\n\tstr r9, [r0]\n\tstr r12, [r2, r1]\n\tstr r11, [r2]\n\t"               \
    "add r6, r6, r3\n\tadd r7, r7, r3\n\t"                                                      \
    "ldrd r1, r2, [sp, #36]\n\t"                                                                \
    "add r0, r0, r1\n\tstr r0, [sp, #20]\n\t"                                                   \
    "cmp r0, r2\n\t"                                                                            \
    "bne 1b\n\t"                                                                                \
    "add sp, #48\n\t"                                                                           \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked)) void products_2x2(const products_2x2_t *products __attribute__((unused))) {
    __asm__ volatile(PRODUCTS(BY_ONE_WORD, "52"));
}

__attribute__((naked)) void products_2x2_aligned(const products_2x2_t *products __attribute__((unused))) {
    __asm__ volatile(PRODUCTS(BY_TWO_WORDS, "44"));
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

#endif
