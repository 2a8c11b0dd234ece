/* Operations on each element by itself: relu in the format bfp8, add and table in the format tflite8; and pixels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* relu, in place: docs/arithmetic.md, sections 4 and 7. */

/* Forward pass: values[i] = max(values[i], 0) for `n` values. */
void relu_s8(int8_t *values, uint32_t n);

/* Backward pass: error[i] = 0 where out[i], the output of the layer, is not positive. */
void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n);

/* add: docs/arithmetic-zeroth-order.md, section 1. */

/* Of one of the two inputs, or of the output: multiplier 2^30..2^31 - 1, shift -31..0. */
typedef struct {
    int32_t multiplier;
    int8_t shift;
    int8_t zero;
} tflite_operand_t;

typedef struct {
    tflite_operand_t a, b, out;
    int8_t act_min, act_max;
    bool single; /* rescale rounds once, not twice */
} tflite_add_t;

/* out = a + b for `n` values. `out` may be `a` or `b`. Takes 2 KB of stack. */
void tflite_add_s8(const int8_t *a, const int8_t *b, uint32_t n, const tflite_add_t *add, int8_t *out);

/* table: out[i] = table[in[i] + 128] for `n` values, with 256 entries. `out` may be `in`. */
void tflite_table_s8(const int8_t *in, uint32_t n, const int8_t *table, int8_t *out);

/* Pixels as values: values[i] = pixels[i] - 128. */
void centre_pixels_s8(int8_t *values, const uint8_t *pixels, uint32_t n);
