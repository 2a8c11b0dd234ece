/* Weights moved by numbers of the pool of noise on Armv6-M, in assembly, 24 at a time. */
#include "kernels/move_groups_m0.h"

#include "kernels/core.h"

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* r0 the weights, r4 the state, r5 the mask of a field, r6 the sign bits of four bytes; r9 the end. Groups are made in
   r2 and r3 in turn and stored in pairs. */

#define ARGUMENTS                                                                                                      \
    int8_t *weights __attribute__((unused)), const int8_t *end __attribute__((unused)),                                \
        const uint32_t *words __attribute__((unused)), uint32_t state __attribute__((unused))

#define ENTER                                                                                                          \
    ".syntax unified\n push {r4-r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n push {r4-r7}\n"        \
    "mov r9, r1\n movs r4, r3\n movs r6, #128\n lsls r1, r6, #8\n orrs r6, r1\n lsls r1, r6, #16\n orrs r6, r1\n"      \
    "movs r5, #255\n adds r5, #255\n adds r5, #1\n" /* 511 */
#define LEAVE "movs r0, r4\n pop {r4-r7}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n pop {r4-r7, pc}\n"

/* The next word of the stream. */
#define DRAW "lsls r1, r4, #13\n eors r4, r1\n lsrs r1, r4, #17\n eors r4, r1\n lsls r1, r4, #5\n eors r4, r1\n"

/* Six groups by two words of the stream: GROUP(field of the word, register, offset of the weights, number). */
#define STORE "stmia r0!, {r2, r3}\n"
#define SIX_GROUPS(GROUP, FIELD)                                                                                       \
    DRAW GROUP(FIELD(0), "r2", "0", "1") GROUP(FIELD(1), "r3", "4", "2") STORE GROUP(FIELD(2), "r2", "0", "3")         \
        DRAW GROUP(FIELD(0), "r3", "4", "4") STORE GROUP(FIELD(1), "r2", "0", "5") GROUP(FIELD(2), "r3", "4", "6")     \
            STORE
#define UNTIL_END "cmp r0, r9\n bne 1b\n"

/* A field in r1, four times, the size of a word, and in r7, eight times. */
#define WORD_0 "lsls r1, r4, #2\n"
#define WORD_1 "lsrs r1, r4, #7\n"
#define WORD_2 "lsrs r1, r4, #16\n"
#define WORD(j) WORD_##j
#define PAIR_0 "lsls r7, r4, #3\n"
#define PAIR_1 "lsrs r7, r4, #6\n"
#define PAIR_2 "lsrs r7, r4, #15\n"
#define PAIR(j) PAIR_##j

/* Bytes with their signs turned over are not negative, so that sums within a byte do not carry. r7 the words. */
#define FREE(field, d, at, i)                                                                                          \
    field "ands r1, r5\n ldr r1, [r7, r1]\n ldr " d ", [r0, #" at "]\n eors " d ", r6\n adds " d ", " d                \
          ", r1\n eors " d ", r6\n"

/* Twelve groups a round, so that the end is looked for less often; an odd six come first (bit 3 of their bytes is odd
   with them). */
__attribute__((naked)) uint32_t move_groups_free(ARGUMENTS) {
    __asm__(ENTER
            "movs r7, r2\n lsls r5, r5, #2\n"
            "mov r1, r9\n subs r1, r1, r0\n lsls r1, r1, #28\n bmi 2f\n"
            "1:\n" SIX_GROUPS(FREE, WORD) "2:\n" SIX_GROUPS(FREE, WORD) UNTIL_END LEAVE);
}

/* r5 a sum of bytes whose signs are turned over, r7 one term of it against the sum (exclusive or), r1 the sign bits
   where both terms had the same sign: only there a sum can overflow, and has where its sign differs. Those bytes
   saturate one at a time from the lowest, for each is right once those below it are. r4 their sign bits. */
__attribute__((naked, used)) static void move_saturate(void) {
    __asm__(
        ".syntax unified\n mov r11, r4\n mov r12, r0\n movs r4, r7\n ands r4, r1\n eors r7, r5\n"
        "1:\n rsbs r0, r4, #0\n ands r4, r0\n lsls r0, r4, #1\n tst r5, r4\n bne 2f\n"
        "subs r5, r5, r0\n lsrs r4, r4, #7\n subs r0, r0, r4\n orrs r5, r0\n b 3f\n"
        "2:\n adds r5, r5, r0\n lsrs r4, r4, #7\n subs r0, r0, r4\n bics r5, r0\n"
        "3:\n movs r4, r5\n eors r4, r7\n ands r4, r1\n bne 1b\n"
        "mov r4, r11\n mov r0, r12\n bx lr\n");
}

/* Where a byte changed its sign, and so the next may be wrong: the same moves with the signs turned over. In d what the
   one move made, in r1 the tested one, in r7 the weights, the first of `order` being an exclusive or
   with the second. */
#define REPAIR(order, d, i)                                                                                            \
    "1" i ":\n eors " order "\n subs " d ", " d                                                                        \
    ", r1\n subs r1, r1, r7\n eors r7, r6\n mov r10, r5\n adds r5, r7, r1\n"                                           \
    "eors r1, r7\n ands r1, r6\n eors r7, r5\n tst r7, r1\n bne 4" i                                                   \
    "f\n"                                                                                                              \
    "3" i ":\n adds " d ", " d ", r5\n mov r5, r10\n eors " d ", r6\n b 2" i                                           \
    "b\n"                                                                                                              \
    "4" i ":\n bl move_saturate\n b 3" i "b\n"

/* Both moves of the field; r8 the words, r7 the weights. As long as no byte changes its sign none carries. */
#define PAIR_OF(field, d, at)                                                                                          \
    field "ands r7, r5\n add r7, r8\n ldmia r7!, {r1, " d "}\n ldr r7, [r0, #" at "]\n adds r1, r1, r7\n adds " d      \
          ", " d ", r7\n"
#define WITHIN(field, d, at, i) PAIR_OF(field, d, at) "eors r7, r1\n tst r7, r6\n bne 1" i "f\n 2" i ":\n"
#define APART(field, d, at, i) PAIR_OF(field, d, at) "eors r1, " d "\n tst r1, r6\n bne 1" i "f\n 2" i ":\n"

#define REPAIR_WITHIN(d, i) REPAIR("r7, r1", d, i)
#define REPAIR_APART(d, i) REPAIR("r1, " d, d, i)
#define REPAIRS(VARIANT)                                                                                               \
    VARIANT("r2", "1") VARIANT("r3", "2") VARIANT("r2", "3") VARIANT("r3", "4") VARIANT("r2", "5") VARIANT("r3", "6")

__attribute__((naked)) uint32_t move_groups_within(ARGUMENTS) {
    __asm__(ENTER
            "mov r8, r2\n lsls r5, r5, #3\n"
            "1:\n" SIX_GROUPS(WITHIN, PAIR) UNTIL_END LEAVE REPAIRS(REPAIR_WITHIN));
}

__attribute__((naked)) uint32_t move_groups_apart(ARGUMENTS) {
    __asm__(ENTER
            "mov r8, r2\n lsls r5, r5, #3\n"
            "1:\n" SIX_GROUPS(APART, PAIR) UNTIL_END LEAVE REPAIRS(REPAIR_APART));
}

#endif
