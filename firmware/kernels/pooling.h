/* Pooling and means, forward and backward, in the formats bfp8 (docs/arithmetic.md, sections 4 and 7), tflite8
   (docs/arithmetic-tflite.md, sections 4 and 7.3) and affine8 (docs/arithmetic-affine8.md, sections 3 and 4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/shapes.h"

/* bfp8: windows are kernel_h x kernel_h with stride kernel_h. */

/* Forward pass: out[y][x][c] = the maximum of the window. */
void max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t *out);

/* Backward pass: the error of each output goes to the first maximum of its window in row-major order; every other input
   error is 0. */
void max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t *input_error);

/* tflite8 and affine8. */

/* Forward passes, for any kernel, stride and padding. Only the part of a window inside the image counts. Outputs are
   limited to act_min..act_max; in affine8 a mean is rounded to nearest, or down. */
void tflite_average_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out);
void tflite_max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out);
void affine8_average_pool(const int8_t *in, const layer_shape_t *shape, bool floors, int8_t *out);

/* Backward passes, for windows that do not overlap and lie within the image. The error of each output goes to every
   position of its window (average_pool) or to the first maximum in row-major order (max_pool); every other input error
   is `zero`. */
void average_pool_error_s8(const int8_t *error, const layer_shape_t *shape, int8_t zero, int8_t *input_error);
void max_pool_error_s8(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t zero,
                       int8_t *input_error);

/* The mean over height and width, with a scale and a zero point of its own. */
typedef struct {
    int32_t multiplier; /* 2^29..2^31 - 1 */
    int8_t shift;       /* -31..30 */
    int8_t input_zero, output_zero;
    int8_t act_min, act_max;
    bool single; /* rescale rounds once, not twice */
} tflite_mean_t;

/* Forward pass, over at most 2^16 positions: one output for each channel. */
void tflite_mean_s8(const int8_t *in, uint32_t positions, uint32_t channels, const tflite_mean_t *mean, int8_t *out);

/* Backward pass: the error of each output goes to every position of its channel. */
void tflite_mean_s8_backward(const int8_t *error, uint32_t positions, uint32_t channels, int8_t *input_error);
