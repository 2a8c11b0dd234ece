/* Parts of the assembly of perturb_s8_m0.c and zo_update_s8_m0.c: r0 the weights, r3 the state of the generator, which is also B of the
   group, r1 A of the group. docs/arithmetic.md, section 8. */
#ifndef NOISE_M0_H
#define NOISE_M0_H

/* A and B of the next group: 12 instructions; r2 is used. */
#define NEXT_WORD(next, last)                                                                                                       \
    "lsls " next ", " last ", #13\n eors " next ", " last "\n lsrs r2, " next ", #17\n eors " next ", r2\n lsls r2, " next          \
    ", #5\n eors " next ", r2\n"
#define NEXT_WORDS NEXT_WORD("r1", "r3") NEXT_WORD("r3", "r1")

/* Byte i of B in r2. */
#define BYTE_0 "uxtb r2, r3\n"
#define BYTE_1 "lsls r2, r3, #16\n lsrs r2, r2, #24\n"
#define BYTE_2 "lsls r2, r3, #8\n lsrs r2, r2, #24\n"
#define BYTE_3 "lsrs r2, r3, #24\n"

/* From weight i of the group to weight i - 1: the highest byte of A is that of the weight. */
#define NEXT_BYTE "lsls r1, r1, #8\n"

/* Weight `i` of the group in r4. */
#define WEIGHT(i) "ldrb r4, [r0, #" i "]\n sxtb r4, r4\n"

/* Whether the highest byte of A is below p_zero, which r8 holds as its highest byte; below it are further bytes of A, or 0. */
#define UNLESS_ZERO "cmp r1, r8\n blo "

#endif
