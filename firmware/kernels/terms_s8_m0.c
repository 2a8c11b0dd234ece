/* Sums of products with a list of terms on Armv6-M. */
#include "kernels/terms_s8.h"

#include "kernels/core.h"

#if KERNELS_THUMB1

static void add_sum(const term_t *terms, uint32_t n, const int8_t *row, int32_t *sum) {
    uint32_t all = (uint32_t)*sum;
    for (const term_t *end = terms + n; terms != end; terms++) {
        all += (uint32_t)(terms->factor * row[terms->at]);
    }
    *sum = (int32_t)all;
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* Four rows: 13 instructions a term, 3.25 a product. r3-r6 the rows, r7 the terms, r8-r11 the sums, r12 the end of the
   terms, lr where the loop is entered. On the stack: +0 the terms, +4 four distances, +44 the end of the sums, +48 the
   sums. */
__attribute__((naked)) static void add_four_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance,
                                                 uint32_t count, int32_t *sums) {
    __asm__(".syntax unified\n" SAVE_ALL
            "lsls r5, r3, #2\n"
            "push {r0, r5}\n lsls r4, r1, #3\n adds r4, r4, r0\n"
            "mov r12, r4\n"
            "negs r1, r1\n" /* n mod 8 terms the first time round */
            "movs r4, #7\n ands r1, r4\n movs r4, #26\n muls r1, r4\n"
            "adr r4, 2f\n adds r1, r1, r4\n"
            "mov lr, r1\n adds r4, r2, r3\n adds r5, r4, r3\n adds r6, r5, r3\n"
            "mov r3, r2\n"
            "ldr r0, [sp, #44]\n ldr r1, [sp, #48]\n lsls r0, r0, #2\n adds r0, r0, r1\n"
            "str r0, [sp, #44]\n"
            "1:\n ldr r7, [sp, #48]\n ldm r7!, {r0-r2}\n mov r8, r0\n mov r9, r1\n"
            "mov r10, r2\n"
            "ldr r0, [r7]\n mov r11, r0\n"
            "ldr r7, [sp]\n mov pc, lr\n"
            ".balign 4\n"
            "2:\n" EIGHT_TIMES("ldm r7!, {r0, r1}\n"
                               "ldrsb r2, [r3, r0]\n muls r2, r1\n add r8, r2\n"
                               "ldrsb r2, [r4, r0]\n muls r2, r1\n add r9, r2\n"
                               "ldrsb r2, [r5, r0]\n muls r2, r1\n add r10, r2\n"
                               "ldrsb r0, [r6, r0]\n muls r0, r1\n"
                               "add r11, r0\n")
            "cmp r7, r12\n bne 2b\n"
            "ldr r7, [sp, #48]\n mov r0, r8\n mov r1, r9\n mov r2, r10\n"
            "stm r7!, {r0-r2}\n"
            "mov r0, r11\n stm r7!, {r0}\n str r7, [sp, #48]\n"
            "ldr r0, [sp, #4]\n adds r3, r3, r0\n adds r4, r4, r0\n adds r5, r5, r0\n"
            "adds r6, r6, r0\n"
            "ldr r0, [sp, #44]\n"
            "cmp r7, r0\n beq 3f\n"
            "b 1b\n" /* farther than BNE reaches */
            "3:\n"
            "add sp, #8\n" RESTORE_ALL);
}

/* Two products at once. A factor of a pair is a + 2^16 b, so that a product with a byte w is a w + 2^16 b w: both parts
   lie within 15 bits and a sign, those of the sum P of two terms within 16. Then P >> 16 is the second part, one less
   where the first is negative: bit 15 tells, and the shift leaves it in the carry. r4 sums up the second parts, r8 all
   of P modulo 2^32, from which the first parts follow at the end. 9 instructions for 4 products. r5 the terms, r6 the
   row, r7 the sums, r9 the distance, r10 and r11 begin and end of the terms, r12 where the loop is entered, lr the end
   of the sums. On the stack: +36 the number of rows, +40 the sums, +44 from the first to the second. */
#define PAIR_SUMS(prepare, begin, bytes, raise)                                                                        \
    __asm__(".syntax unified\n" SAVE_ALL                                                                               \
            "mov r10, r0\n mov r9, r3\n mov r6, r2\n lsls r3, r1, #3\n"                                                \
            "adds r3, r3, r0\n mov r11, r3\n lsrs r1, r1, #1\n"                                                        \
            "negs r1, r1\n" /* n / 2 mod 8 times two terms the first time round */                                     \
            "movs r2, #7\n ands r1, r2\n"                                                                              \
            "movs r2, #" bytes "\n"                                                                                    \
            "muls r1, r2\n adr r2, 2f\n adds r1, r1, r2\n"                                                             \
            "mov r12, r1\n"                                                                                            \
            "ldr r0, [sp, #36]\n ldr r7, [sp, #40]\n lsls r0, r0, #2\n adds r0, r0, r7\n"                              \
            "mov lr, r0\n"                                                                                             \
            "ldr r0, [sp, #44]\n lsls r0, r0, #2\n"                                                                    \
            "str r0, [sp, #44]\n" prepare "1:\n" begin "mov pc, r12\n"                                                 \
            ".balign 4\n"                                                                                              \
            "2:\n" EIGHT_TIMES("ldm r5!, {r0-r3}\n"                                                                    \
                               "ldrsb r0, [r6, r0]\n muls r0, r1\n"                                                    \
                               "ldrsb r2, [r6, r2]\n muls r2, r3\n adds r0, r0, r2\n"                                  \
                               "add r8, r0\n" raise                                                                    \
                               "asrs r0, r0, #16\n"                                                                    \
                               "adcs r4, r0\n")                                                                        \
            "cmp r5, r11\n bne 2b\n"                                                                                   \
            "mov r0, r8\n lsls r1, r4, #16\n subs r0, r0, r1\n"                                                        \
            "ldr r1, [sp, #44]\n str r4, [r7, r1]\n"                                                                   \
            "stm r7!, {r0}\n" /* after the second, which lies in the same place where there is none */                 \
            "add r6, r9\n"                                                                                             \
            "cmp r7, lr\n"                                                                                             \
            "bne 1b\n" RESTORE_ALL);

__attribute__((naked)) void terms_pair_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance,
                                            uint32_t count, int32_t *first, uint32_t to_second) {
    PAIR_SUMS("", "movs r4, #0\n mov r8, r4\n mov r5, r10\n", "18", "");
}

/* +48: from the sums to what they begin with. That goes into r8 as into a sum of pairs. */
#define TO_STARTS "ldr r0, [sp, #48]\n subs r0, r0, r7\n str r0, [sp, #48]\n"
#define FROM_START "ldr r0, [sp, #48]\n ldr r4, [r7, r0]\n lsls r0, r4, #16\n adds r0, r0, r4\n mov r8, r0\n"

__attribute__((naked)) void terms_pair_sums_from(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance,
                                                 uint32_t count, int32_t *first, uint32_t to_second,
                                                 const int32_t *starts) {
    PAIR_SUMS(TO_STARTS, FROM_START "mov r5, r10\n", "18", "");
}

/* r10 one more for the second part of each P, so that it is not below -2^15. On the stack: +36 the begin of the terms,
   +40 how often that is added. 10 instructions for 4 products. */
__attribute__((naked)) void terms_pair_sums_raised(const term_t *terms, uint32_t n, const int8_t *rows,
                                                   uint32_t distance, uint32_t count, int32_t *first,
                                                   uint32_t to_second, const int32_t *starts) {
    PAIR_SUMS(TO_STARTS
              "mov r0, r10\n str r0, [sp, #36]\n mov r1, r11\n subs r1, r1, r0\n lsrs r1, r1, #4\n"
              "str r1, [sp, #40]\n movs r0, #1\n lsls r0, r0, #16\n mov r10, r0\n",
              FROM_START "ldr r0, [sp, #40]\n subs r4, r4, r0\n ldr r5, [sp, #36]\n", "20", "add r0, r10\n");
}

#else

static void add_four_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                          int32_t *sums) {
    for (uint32_t r = 0; r < count; r++) {
        add_sum(terms, n, rows + r * distance, sums + r);
    }
}

/* `raise`: what is added to each sum of two terms before it is split. */
static inline void pair_sum(const term_t *terms, uint32_t n, const int8_t *row, uint32_t start, uint32_t raise,
                            int32_t *first, uint32_t to_second) {
    uint32_t all = start + (start << 16), second = start - n / 2 * (raise >> 16);
    for (uint32_t i = 0; i < n; i += 2) {
        const uint32_t sum = (uint32_t)terms[i].factor * (uint32_t)row[terms[i].at] +
                             (uint32_t)terms[i + 1].factor * (uint32_t)row[terms[i + 1].at];
        all += sum;
        second += (uint32_t)((int32_t)(sum + raise) >> 16) + (sum >> 15 & 1u);
    }
    first[to_second] = (int32_t)second;
    first[0] = (int32_t)(all - (second << 16));
}

void terms_pair_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                     int32_t *first, uint32_t to_second) {
    for (uint32_t r = 0; r < count; r++) {
        pair_sum(terms, n, rows + r * distance, 0, 0, first + r, to_second);
    }
}

void terms_pair_sums_from(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                          int32_t *first, uint32_t to_second, const int32_t *starts) {
    for (uint32_t r = 0; r < count; r++) {
        pair_sum(terms, n, rows + r * distance, (uint32_t)starts[r], 0, first + r, to_second);
    }
}

void terms_pair_sums_raised(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                            int32_t *first, uint32_t to_second, const int32_t *starts) {
    for (uint32_t r = 0; r < count; r++) {
        pair_sum(terms, n, rows + r * distance, (uint32_t)starts[r], 1u << 16, first + r, to_second);
    }
}

#endif

void terms_add_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                    int32_t *sums) {
    const uint32_t fours = count & ~3u;
    if (fours > 0 && n > 0) {
        add_four_sums(terms, n, rows, distance, fours, sums);
    }
    for (uint32_t r = fours; r < count; r++) {
        add_sum(terms, n, rows + r * distance, sums + r);
    }
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* 5 instructions a product, and `scale`. r0 the terms, r1 their end, r2 the factor, r3 the shift, r6 the sums. */
#define MOVE_SUMS(sums, bytes, scale, add_or_subtract)                                                                 \
    __asm__(".syntax unified\n"                                                                                        \
            "push {r4-r7, lr}\n" sums                                                                                  \
            "negs r4, r1\n" /* n mod 8 terms the first time round */                                                   \
            "movs r5, #7\n ands r4, r5\n"                                                                              \
            "movs r5, #" bytes "\n"                                                                                    \
            "muls r4, r5\n lsls r1, r1, #3\n adds r1, r1, r0\n adr r5, 1f\n"                                           \
            "adds r4, r4, r5\n mov pc, r4\n"                                                                           \
            ".balign 4\n"                                                                                              \
            "1:\n" EIGHT_TIMES("ldm r0!, {r4, r5}\n"                                                                   \
                               "muls r5, r2\n" scale                                                                   \
                               "ldr r7, [r6, r4]\n" add_or_subtract " r7, r7, r5\n"                                    \
                               "str r7, [r6, r4]\n")                                                                   \
            "cmp r0, r1\n bne 1b\n"                                                                                    \
            "pop {r4-r7, pc}\n")

__attribute__((naked)) static void add_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift,
                                                  int32_t *sums) {
    MOVE_SUMS("ldr r6, [sp, #20]\n", "12", "lsrs r5, r3\n", "adds");
}

__attribute__((naked)) static void subtract_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift,
                                                       int32_t *sums) {
    MOVE_SUMS("ldr r6, [sp, #20]\n", "12", "lsrs r5, r3\n", "subs");
}

__attribute__((naked)) static void add_products(const term_t *terms, uint32_t n, int32_t by, int32_t *sums) {
    MOVE_SUMS("mov r6, r3\n", "10", "", "adds");
}

#else

static void add_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums) {
    for (const term_t *end = terms + n; terms != end; terms++) {
        sums[terms->at / 4] += terms->factor * by >> shift;
    }
}

static void subtract_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums) {
    for (const term_t *end = terms + n; terms != end; terms++) {
        sums[terms->at / 4] -= terms->factor * by >> shift;
    }
}

static void add_products(const term_t *terms, uint32_t n, int32_t by, int32_t *sums) {
    for (const term_t *end = terms + n; terms != end; terms++) {
        int32_t *const sum = sums + terms->at / 4;
        *sum = (int32_t)((uint32_t)*sum + (uint32_t)(terms->factor * by));
    }
}

#endif

void terms_add_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums, bool minus) {
    if (n > 0 && minus) {
        subtract_magnitudes(terms, n, by, shift, sums);
    } else if (n > 0) {
        add_magnitudes(terms, n, by, shift, sums);
    }
}

void terms_add_products(const term_t *terms, uint32_t n, int32_t by, int32_t *sums) {
    if (n > 0) {
        add_products(terms, n, by, sums);
    }
}

#endif
