/* conv2d in the format bfp8, stride 1, forward and backward: docs/arithmetic.md, sections 4 and 7. Sums are exact in
   int32. Each kernel has a scratch function where it needs a buffer; it returns the buffer's size in bytes. */
#pragma once

#include <stdint.h>

#include "kernels/shapes.h"

/* Forward pass: acc[y][x][o] = the sum of weights[o][ky][kx][c] * input over the window. The padding is 0. */
uint64_t conv2d_s8_scratch(const layer_shape_t *shape);
void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc);

/* Error of the input, a transposed convolution: acc[y][x][c] = the sum of weight * error[y'][x'][o] over the outputs
   that read the input. What falls on the padding is dropped. */
void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc);

/* Weight gradient: gradient = sat32(gradient + trunc(g / 2^shift)) for each weight, where g is the exact sum of
   error * input over the output positions. */
uint64_t conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape);
void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient);
