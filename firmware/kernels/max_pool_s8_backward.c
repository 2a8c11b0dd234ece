/* max_pool of the format bfp8, backward: docs/arithmetic.md, section 7. */
#include "kernels/pooling.h"

#include <string.h>

#include "kernels/dsp.h"
#include "kernels/pools.h"

/* max_pool_row_s8_backward(), one row of 2 x 2 windows: error[w * column + c] to the first maximum of channel c of
   window w, w in 0..windows-1, at least one; `column` is the number of channels. The other positions are 0 already. */

#if KERNELS_DSP

/* Four channels of a window. Of two that are equal the first one counts as the larger, in each pair
   and of the pairs. */
static inline void four_channels(const int8_t *in, uint32_t column, uint32_t row, const int8_t *error,
                                 int8_t *input_error) {
    const uint32_t a = load_word(in), b = load_word(in + column), c = load_word(in + row),
                   d = load_word(in + row + column);
    const uint32_t ab = where_at_least_s8(a, b, a, b), cd = where_at_least_s8(c, d, c, d);
    const uint32_t left_above = where_at_least_s8(a, b, UINT32_MAX, 0),
                   left_below = where_at_least_s8(c, d, UINT32_MAX, 0);
    const uint32_t above = where_at_least_s8(ab, cd, load_word(error), 0), below = load_word(error) ^ above;
    store_word(input_error, above & left_above);
    store_word(input_error + column, above & ~left_above);
    store_word(input_error + row, below & left_below);
    store_word(input_error + row + column, below & ~left_below);
}

SEPARATE static void channel_by_channel(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row,
                                        const int8_t *error, int8_t *input_error) {
    for (; windows > 0; windows--, in += column, input_error += column) { /* and as much again by the channels */
        for (uint32_t c = 0; c < column; c++, in++, input_error++) {
            input_error[first_maximum_s8(in, 2, 2, row, column)] = *error++;
        }
    }
}

/* The last four channels of a window may have been among the first. */
SEPARATE static void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row,
                                              const int8_t *error, int8_t *input_error) {
    if (column < 4) {
        channel_by_channel(in, windows, column, row, error, input_error);
        return;
    }
    const uint32_t last = column - 4;
    for (; windows > 0; windows--, in += 2 * column, error += column, input_error += 2 * column) {
        for (uint32_t c = 0; c < last; c += 4) {
            four_channels(in + c, column, row, error + c, input_error + c);
        }
        four_channels(in + last, column, row, error + last, input_error + last);
    }
}

#elif defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* Place `x` instead of r6, and its value r5 instead of r4, where that is larger. */
#define LARGER(x, label)                                                                                               \
    "ldrsb r5, [" x ", r7]\n cmp r5, r4\n ble " label "f\n movs r4, r5\n movs r6, " x "\n" label ":\n"

/* 20 instructions an error. r0-r3 the four places, r4 the maximum, r6 its place, r7 the channel, r8 from the input to
   its error, r9 error, r10 from a window to the next, r11 the end of r0, r12 channels. On the stack: +36 error, +40
   input_error. */
__attribute__((naked, noipa)) static void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column,
                                                                   uint32_t row, const int8_t *error,
                                                                   int8_t *input_error) {
    __asm__(".syntax unified\n" SAVE_ALL
            "ldr r4, [sp, #36]\n mov r9, r4\n"
            "ldr r4, [sp, #40]\n subs r4, r4, r0\n"
            "mov r8, r4\n mov r12, r2\n lsls r4, r2, #1\n mov r10, r4\n"
            "muls r4, r1\n adds r4, r4, r0\n mov r11, r4\n"
            "adds r1, r0, r2\n adds r4, r0, r3\n adds r3, r4, r2\n movs r2, r4\n"
            "1:\n movs r7, #0\n"
            "2:\n ldrsb r4, [r0, r7]\n"
            "movs r6, r0\n" LARGER("r1", "3") LARGER("r2", "4") LARGER("r3", "5")
            "add r6, r8\n mov r5, r9\n"
            "ldrb r5, [r5, r7]\n strb r5, [r6, r7]\n"
            "adds r7, r7, #1\n cmp r7, r12\n bne 2b\n"
            "add r9, r12\n mov r7, r10\n adds r1, r1, r7\n adds r2, r2, r7\n"
            "adds r3, r3, r7\n adds r0, r0, r7\n"
            "cmp r0, r11\n bne 1b\n" RESTORE_ALL);
}

#else

SEPARATE static void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row,
                                              const int8_t *error, int8_t *input_error) {
    for (uint32_t w = 0; w < windows;
         w++, in += column, input_error += column) { /* and as much again by the channels */
        for (uint32_t c = 0; c < column; c++, in++, input_error++) {
            input_error[first_maximum_s8(in, 2, 2, row, column)] = *error++;
        }
    }
}

#endif

/* One row of k x k windows. */
static void spread_row(const int8_t *in, uint32_t windows, uint32_t k, uint32_t column, uint32_t row,
                       const int8_t *error, int8_t *input_error) {
    for (uint32_t at = 0; windows > 0; windows--, at += (k - 1) * column) {
        for (uint32_t c = 0; c < column; c++, at++) {
            input_error[at + first_maximum_s8(in + at, k, k, row, column)] = *error++;
        }
    }
}

void max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t *input_error) {
    const uint32_t k = shape->kernel_h, column = shape->in_c, windows = shape->out_w;
    const uint32_t row = shape->in_w * column;
    memset(input_error, 0, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        if (k == 2) {
            max_pool_row_s8_backward(in, windows, column, row, error, input_error);
        } else {
            spread_row(in, windows, k, column, row, error, input_error);
        }
        in += k * row;
        input_error += k * row;
        error += windows * column;
    }
}
