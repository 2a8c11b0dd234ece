/* max_pool and average_pool in binary32, forward and backward: docs/arithmetic-float32.md, sections 3 and 5. */
#pragma once

#include "kernels/shapes.h"
#include "kernels/sums_f32.h"

/* Forward passes, for any kernel, stride and padding. Only the part of a window inside the image counts. */
void max_pool_f32(const float *in, const layer_shape_t *shape, float *out);
void average_pool_f32(const float *in, const layer_shape_t *shape, float *out);

/* Backward passes, for windows that do not overlap and lie within the image. The error of an output goes to the first
   maximum of its window, row-major (max_pool), or its n-th part to each of the n positions (average_pool); every other
   input gets +0. `further`: they are added to what is in `input_error`. */
void max_pool_f32_backward(const float *in, const float *error, const layer_shape_t *shape, bool further,
                           float *input_error);
void average_pool_f32_backward(const float *error, const layer_shape_t *shape, bool further, float *input_error);
