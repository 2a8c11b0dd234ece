/* max_pool in the format bfp8, forward and backward: docs/arithmetic.md, sections 4 and 7. Windows are kernel_h x
   kernel_h with stride kernel_h. */
#pragma once

#include <stdint.h>

#include "kernels/shapes.h"

/* Forward pass: out[y][x][c] = the maximum of the window. */
void max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t *out);

/* Backward pass: the error of each output goes to the first maximum of its window in row-major order; every other input
   error is 0. */
void max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t *input_error);
