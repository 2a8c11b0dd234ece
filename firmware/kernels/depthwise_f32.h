/* Depthwise convolution in binary32, forward and backward: docs/arithmetic-float32.md, sections 3 and 5. Any kernel,
   stride and padding. Weights are [ky][kx][c]. The functions are those of conv2d_f32.h. */
#pragma once

#include "kernels/channels_f32.h"
#include "kernels/shapes.h"
#include "kernels/sums_f32.h"

void depthwise_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                   const limits_f32_t *limits, float *out);
void depthwise_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                               const layer_shape_t *shape, bool further, float *input_error);
void depthwise_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient);
