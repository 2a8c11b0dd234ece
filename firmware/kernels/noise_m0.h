/* Parts of the assembly of perturb_s8_m0.c and zo_update_s8_m0.c: r0 the weights, r1 the state of the generator, which is also B of the
   group, r2 A of the group. docs/arithmetic.md, section 8. */
#ifndef NOISE_M0_H
#define NOISE_M0_H

/* A and B of the next group: 13 instructions; r3 is used. */
#define NEXT_WORD "lsls r3, r1, #13\n eors r1, r3\n lsrs r3, r1, #17\n eors r1, r3\n lsls r3, r1, #5\n eors r1, r3\n"
#define NEXT_WORDS NEXT_WORD "movs r2, r1\n" NEXT_WORD

/* Byte i of B in r3. */
#define BYTE_0 "uxtb r3, r1\n"
#define BYTE_1 "lsls r3, r1, #16\n lsrs r3, r3, #24\n"
#define BYTE_2 "lsls r3, r1, #8\n lsrs r3, r3, #24\n"
#define BYTE_3 "lsrs r3, r1, #24\n"

/* Weight `i` of the group in r4. */
#define WEIGHT(i) "ldrb r4, [r0, #" i "]\n sxtb r4, r4\n"

/* Whether the highest byte of A is below p_zero, which r8 holds as its highest byte; below it are further bytes of A, or 0. */
#define UNLESS_ZERO "cmp r2, r8\n blo "

#endif
