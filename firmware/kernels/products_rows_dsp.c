#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stddef.h>

#include "kernels/products_dsp.h"

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

_Static_assert(offsetof(products_rows_t, groups) == 20, "the assembly knows the fields");

/* By hand, because it needs all fourteen registers and the compiler spills: r0-r3 eight inputs, r4 and r5 eight
   weights, r6 two of them, r7 and r8 where both rows are, r9 and r10 their sums, r11 where those go, r12 where the
   inputs are, lr turns. Four groups are unrolled; the first turn begins where only the rest of a division by four is
   left. All instructions of a group have 32 bits, so that it can be entered by its number. */
#define ROW(load_weights, from, sum)                                                                                   \
    load_weights(from) "sxtb16 r6, r4\n\tsmlad " sum ", r6, r0, " sum "\n\tsxtb16 r6, r4, ror #8\n\tsmlad " sum        \
                       ", r6, r1, " sum                                                                                \
                       "\n\t"                                                                                          \
                       "sxtb16 r6, r5\n\tsmlad " sum ", r6, r2, " sum "\n\tsxtb16 r6, r5, ror #8\n\tsmlad " sum        \
                       ", r6, r3, " sum "\n\t"

#define BY_TWO_WORDS(from) "ldrd r4, r5, [" from "], #8\n\t"
#define BY_ONE_WORD(from) "ldr r4, [" from "], #4\n\tldr r5, [" from "], #4\n\t"
#define GROUP(load_weights) "ldm r12!, {r0-r3}\n\t" ROW(load_weights, "r7", "r9") ROW(load_weights, "r8", "r10")

#define PRODUCTS(load_weights, group_bytes)                                                                            \
    "push {r4-r11, lr}\n\t"                                                     \
    "ldm r0!, {r1-r6}\n\t"                                                      \
    "ldm r0, {r7, r8, r11}\n\t"                                                 \
    "rsb r6, r6, #0\n\t"                                                        \
    "and r6, r6, #3\n\t"                                                        \
    "mov r0, #" group_bytes "\n\t"                                              \
    "adr.w r4, 2f\n\t"                                                          \
    "mla r4, r6, r0, r4\n\t"                                                    \
    "orr r4, r4, #1\n\t"                                                        \
    "push {r1-r5, r6}\n\t"                                                      \
    "1:\n\t" /* two rows */                                                     \
    "ldm sp, {r0-r4}\n\t"                                                       \
    "mov r12, r0\n\tmov lr, r4\n\t"                                             \
    "ldrd r9, r10, [r11]\n\t"                                                   \
    "bx r3\n\t"                                                                 \
    ".balign 4\n\t"                                                             \
    "2:\n\t"                                                                    \
    GROUP(load_weights) GROUP(load_weights) GROUP(load_weights) GROUP(load_weights) \
    "subs lr, lr, #1\n\t"                                                       \
    "bne 2b\n\t"                                                                \
    "strd r9, r10, [r11], #8\n\t"                                               \
    "ldrd r0, r1, [sp, #4]\n\t"                                                 \
    "add r7, r7, r0\n\tadd r8, r8, r0\n\t"                                      \
    "cmp r11, r1\n\t"                                                           \
    "bne 1b\n\t"                                                                \
    "add sp, #24\n\t"                                                           \
    "pop {r4-r11, pc}\n\t"

__attribute__((naked)) void products_rows(const products_rows_t *products __attribute__((unused))) {
    __asm__ volatile(PRODUCTS(BY_ONE_WORD, "84"));
}

__attribute__((naked)) void products_rows_aligned(const products_rows_t *products __attribute__((unused))) {
    __asm__ volatile(PRODUCTS(BY_TWO_WORDS, "76"));
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
