/* The layers of binary32, forward and backward: docs/arithmetic-float32.md, sections 2 to 6 and 9; hard_swish and
   multiply: docs/arithmetic-affine8.md, section 5; single channels: docs/arithmetic-fqt.md, sections 4 and 5.

   Any kernel, stride and padding. Weights are [o][ky][kx][c], those of depthwise [ky][kx][c], of fully_connected
   [output][input]. pointwise is conv2d with a 1 x 1 kernel, stride 1 and no padding. */
#pragma once

#include <stddef.h>

#include "kernels/shapes.h"
#include "kernels/sums_f32.h"

/* The output channels of a layer whose errors count. An error has these only, position by position: the products of an
   error of 0 change no sum. */
typedef struct {
    const uint16_t *list; /* in ascending order; NULL: all channels */
    uint32_t count;
} kept_f32_t;

/* Forward: out = clamp(the sum of the products + bias). */
void conv2d_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                const limits_f32_t *limits, float *out);
void depthwise_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                   const limits_f32_t *limits, float *out);
void fully_connected_f32(const float *in, const float *weights, const float *bias, uint32_t inputs, uint32_t outputs,
                         const limits_f32_t *limits, float *out);

/* The error of every input, from that of the outputs, which has passed the gate and has the kept channels. `further`,
   here and below: it is added to what is in `input_error`. */
void conv2d_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                            const layer_shape_t *shape, bool further, float *input_error);
void depthwise_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                               const layer_shape_t *shape, bool further, float *input_error);
void fully_connected_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights, uint32_t inputs,
                                     bool further, float *input_error);

/* Add the gradient of a sample to `gradient`, which has the order of the weights. That of the biases: the sums of the
   errors over `positions`, row-major. */
void conv2d_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient);
void depthwise_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient);
void fully_connected_f32_weight_gradient(const float *in, const float *error, uint32_t inputs, uint32_t outputs,
                                         float *gradient);
void bias_gradient_f32(const float *error, uint32_t positions, uint32_t channels, float *gradient);

/* The gradient of one output channel, of one sample, is added to `gradient`, the place of the channel's first weight.
   Returns the sums of the gradient, and of its squares, weight by weight in their order. */
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

/* Move the errors of the channels of a list together, in place. */
void pack_channels_f32(float *error, uint32_t positions, uint32_t channels, const kept_f32_t *kept);

/* norms[o] = the sum of |error| over the positions, row-major, of an error [position][channel]. */
void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms);

/* Pools, forward. Only the part of a window inside the image counts. */
void max_pool_f32(const float *in, const layer_shape_t *shape, float *out);
void average_pool_f32(const float *in, const layer_shape_t *shape, float *out);

/* Backward, for windows that do not overlap and lie within the image. The error of an output goes to the first maximum
   of its window, row-major (max_pool), or its n-th part to each of the n positions (average_pool); every other input
   gets +0. */
void max_pool_f32_backward(const float *in, const float *error, const layer_shape_t *shape, bool further,
                           float *input_error);
void average_pool_f32_backward(const float *error, const layer_shape_t *shape, bool further, float *input_error);

/* Value 0: scale * (pixel - 128 - zero). */
void scale_pixels_f32(const uint8_t *pixels, uint32_t n, float scale, int32_t zero, float *out);

/* out = clamp(a + b). */
void add_f32(const float *a, const float *b, uint32_t n, const limits_f32_t *limits, float *out);

/* Errors of outputs that are on a limit, or beyond, become +0. */
void gate_f32(const float *out, uint32_t n, const limits_f32_t *limits, float *error);

/* Give an error on as it is. */
void pass_error_f32(const float *error, uint32_t n, bool further, float *input_error);

/* hard_swish and multiply, forward; the errors of what they read. Each of the `channels` b goes with every one of the
   `positions`. */
void hard_swish_f32(const float *in, uint32_t n, float *out);
void multiply_f32(const float *a, const float *b, uint32_t positions, uint32_t channels, float *out);
void hard_swish_f32_backward(const float *in, const float *error, uint32_t n, bool further, float *input_error);
void multiply_f32_error_of_a(const float *b, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error);
void multiply_f32_error_of_b(const float *a, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error);

/* Of `n` >= 1 logits: the lowest index of the largest; the cross-entropy of the softmax; its error, softmax less
   one-hot. */
uint32_t argmax_f32(const float *values, uint32_t n);
float softmax_loss_f32(const float *logits, uint32_t n, uint32_t label);
void softmax_error_f32(const float *logits, uint32_t n, uint32_t label, float *error);
