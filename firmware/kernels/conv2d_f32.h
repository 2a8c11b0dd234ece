/* conv2d and pointwise (conv2d with a 1 x 1 kernel, stride 1 and no padding) in binary32, forward and backward:
   docs/arithmetic-float32.md, sections 3 and 5. Any kernel, stride and padding. Weights are [o][ky][kx][c]. */
#pragma once

#include "kernels/channels_f32.h"
#include "kernels/shapes.h"
#include "kernels/sums_f32.h"

/* out = clamp(the sum of the products + bias). */
void conv2d_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                const limits_f32_t *limits, float *out);

/* The error of every input, from that of the outputs, which has passed the gate and has the kept channels. `further`:
   it is added to what is in `input_error`. */
void conv2d_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                            const layer_shape_t *shape, bool further, float *input_error);

/* Add the gradient of a sample to `gradient`, which has the order of the weights. */
void conv2d_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient);

/* Add the gradient of the biases, of one sample: the sums of the errors over `positions`, row-major. For every layer
   with weights. */
void bias_gradient_f32(const float *error, uint32_t positions, uint32_t channels, float *gradient);
