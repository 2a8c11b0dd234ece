#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/max_pool_row_s8_backward.h"

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* Place `x` instead of r6, and its value r5 instead of r4, where that is larger. */
#define LARGER(x, label)                                                                                               \
    "ldrsb r5, [" x ", r7]\n cmp r5, r4\n ble " label "f\n movs r4, r5\n movs r6, " x "\n" label ":\n"

/* 20 instructions an error. r0-r3 the four places, r4 the maximum, r6 its place, r7 the channel, r8 from the input to
   its error, r9 error, r10 from a window to the next, r11 the end of r0, r12 channels. On the stack: +36 error, +40
   input_error. */
__attribute__((naked)) void
max_pool_row_s8_backward(const int8_t *in __attribute__((unused)), uint32_t windows __attribute__((unused)),
                         uint32_t column __attribute__((unused)), uint32_t row __attribute__((unused)),
                         const int8_t *error __attribute__((unused)), int8_t *input_error __attribute__((unused))) {
    __asm__(".syntax unified\n"
            "push {r4-r7, lr}\n"
            "mov r4, r8\n"
            "mov r5, r9\n"
            "mov r6, r10\n"
            "mov r7, r11\n"
            "push {r4-r7}\n"
            "ldr r4, [sp, #36]\n"
            "mov r9, r4\n"
            "ldr r4, [sp, #40]\n"
            "subs r4, r4, r0\n"
            "mov r8, r4\n"
            "mov r12, r2\n"
            "lsls r4, r2, #1\n"
            "mov r10, r4\n"
            "muls r4, r1\n"
            "adds r4, r4, r0\n"
            "mov r11, r4\n"
            "adds r1, r0, r2\n"
            "adds r4, r0, r3\n"
            "adds r3, r4, r2\n"
            "movs r2, r4\n"
            "1:\n"
            "movs r7, #0\n"
            "2:\n"
            "ldrsb r4, [r0, r7]\n"
            "movs r6, r0\n" LARGER("r1", "3") LARGER("r2", "4") LARGER("r3", "5")
            "add r6, r8\n"
            "mov r5, r9\n"
            "ldrb r5, [r5, r7]\n"
            "strb r5, [r6, r7]\n"
            "adds r7, r7, #1\n"
            "cmp r7, r12\n"
            "bne 2b\n"
            "add r9, r12\n"
            "mov r7, r10\n"
            "adds r1, r1, r7\n"
            "adds r2, r2, r7\n"
            "adds r3, r3, r7\n"
            "adds r0, r0, r7\n"
            "cmp r0, r11\n"
            "bne 1b\n"
            "pop {r0-r3}\n"
            "mov r8, r0\n"
            "mov r9, r1\n"
            "mov r10, r2\n"
            "mov r11, r3\n"
            "pop {r4-r7, pc}\n");
}

#else

void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row, const int8_t *error,
                              int8_t *input_error) {
    for (uint32_t w = 0; w < windows; w++, in += 2 * column, input_error += 2 * column, error += column) {
        for (uint32_t c = 0; c < column; c++) {
            input_error[c + first_maximum(in + c, 2, column, row)] = error[c];
        }
    }
}

#endif

#endif
