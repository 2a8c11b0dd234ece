/* The gradient of one output channel, of one sample, in binary32: docs/arithmetic-float32.md, section 5, and
   docs/arithmetic-fqt.md, section 5. It is added to `gradient`, the place of the channel's first weight. */
#pragma once

#include "kernels/shapes.h"

/* The sums of the gradient, and of its squares, weight by weight in their order. */
typedef struct {
    float sum, squares;
} moments_f32_t;

moments_f32_t conv2d_f32_channel_gradient(const float *in, const float *error, const layer_shape_t *shape,
                                          uint32_t channel, float *gradient);
moments_f32_t depthwise_f32_channel_gradient(const float *in, const float *error, const layer_shape_t *shape,
                                             uint32_t channel, float *gradient);
moments_f32_t fully_connected_f32_channel_gradient(const float *in, float error, uint32_t inputs, float *gradient);

/* The sum of the channel's errors over the positions. */
float channel_error_f32(const float *error, uint32_t positions, uint32_t channels, uint32_t channel);
