/* Output channels one by one in binary32: those whose errors count, and the gradient of one of them
   (docs/arithmetic-fqt.md, sections 4 and 5; docs/arithmetic-float32.md, sections 1 and 5). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/shapes.h"

/* The output channels of a layer whose errors count. An error has these only, position by position: the products of an
   error of 0 change no sum. */
typedef struct {
    const uint16_t *list; /* in ascending order; NULL: all channels */
    uint32_t count;
} kept_f32_t;

/* Move the errors of the channels of a list together, in place. */
void pack_channels_f32(float *error, uint32_t positions, uint32_t channels, const kept_f32_t *kept);

/* norms[o] = the sum of |error| over the positions, row-major, of an error [position][channel]. */
void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms);

/* The gradient of one output channel, of one sample, is added to `gradient`, the place of the channel's first
   weight. */

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
