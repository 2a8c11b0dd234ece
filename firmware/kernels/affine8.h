/* The layers with weights of the format affine8, forward and backward: docs/arithmetic-affine8.md, sections 3, 4 and 7.
   Values, weights and errors are int8, -128..127, each tensor with a zero point; sums of products of two differences
   from zero points are exact in int32, and may be formed modulo 2^32 in any order. Weights are [o][ky][kx][c], those of
   depthwise [ky][kx][c]; any kernel, stride and padding. `out` must not overlap `in`.

   Scratch is aligned to 8 bytes; its sizes are those of docs/memory.md for tflite8, but for depthwise forward
   (docs/arithmetic-fqt.md, section 10): formats/affine8.h and formats/tflite8_sizes.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arith/affine8.h"
#include "kernels/shapes.h"

/* What a layer takes besides its input and weights. */
typedef struct {
    int8_t input_zero, weight_zero, output_zero;
    int8_t least, most;      /* q_min, q_max: limits of the output */
    affine8_factor_t factor; /* of all channels */
    const int32_t *bias;     /* b', by output channel: affine8_fold_bias() */
} affine8_layer_t;

/* folded[o] = bias[o] - input_zero * the sum of (weight - weight_zero) of channel o, modulo 2^32. The `taps` weights of
   a channel are `tap_step` apart, and the first weights of neighbouring channels `channel_step`: 1 and taps in conv2d,
   channels and 1 in depthwise. `folded` may be `bias`. */
void affine8_fold_bias(const int32_t *bias, const int8_t *weights, int8_t weight_zero, uint32_t taps, uint32_t tap_step,
                       uint32_t channels, uint32_t channel_step, int8_t input_zero, int32_t *folded);

/* Rescale sums to outputs. sums[c * positions + p], c in 0..channels-1, is the sum of input * (weight - weight_zero) of
   channel first + c; its output goes to out[p * step + c]. */
void affine8_requantize_channels(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                 const affine8_layer_t *layer, uint32_t step, int8_t *out);

/* Forward passes. */
void affine8_conv2d(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const affine8_layer_t *layer,
                    int8_t *scratch, int8_t *out);
void affine8_pointwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out);
void affine8_depthwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out);
void affine8_fully_connected(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                             const affine8_layer_t *layer, int32_t *scratch, int8_t *out);

/* The errors of the output channels of a layer that are kept; `zero` stands for 0. Channels are in ascending order. All
   others take no part: their errors are 0.

   conv2d, pointwise and fully_connected take them packed: error[p * count + i] is that of channel kept[i] at output
   position p. Depthwise and the bias gradient take them where they lie: error[p * channels + kept[i]]. With all
   channels both are the same. */
typedef struct {
    const int8_t *error;
    int8_t zero;
    const uint16_t *kept;
    uint32_t count;
} affine8_errors_t;

/* Error of the input: acc[y][x][c] = the sum of (weight - weight_zero) * (error - zero) over the outputs that read the
   input. What falls on the padding is dropped. */
void affine8_conv2d_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                const layer_shape_t *shape, int32_t *scratch, int32_t *acc);
void affine8_pointwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int32_t *acc);
void affine8_depthwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int8_t *scratch, int32_t *acc);
void affine8_fully_connected_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                         uint32_t inputs, int32_t *acc);

/* Weight gradient: gradient[i][ky][kx][c] += the sum of (error - zero) * (input - input_zero) over the output
   positions, of channel kept[i], modulo 2^32; the padding adds nothing. Depthwise: gradient[ky][kx][i]. */
void affine8_conv2d_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                    int8_t input_zero, int8_t *scratch, int32_t *gradient);
void affine8_pointwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int32_t *gradient);
void affine8_depthwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int8_t *scratch, int32_t *gradient);
void affine8_fully_connected_weight_gradient(const int8_t *in, const affine8_errors_t *errors, uint32_t inputs,
                                             int8_t input_zero, int32_t *gradient);

/* Bias gradient: gradient[i] += the sum of error - zero over the positions, of channel kept[i]. */
void affine8_bias_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t channels, int32_t *gradient);

/* norms[o] = the sum of |error - zero| over the positions of [position][channel]: docs/arithmetic-fqt.md, section 4. */
void affine8_error_norms(const int8_t *error, int8_t zero, uint32_t positions, uint32_t channels, uint32_t *norms);

/* The range of `n` sums with 0: least <= 0 <= most. */
typedef struct {
    int32_t least, most;
} affine8_extent_t;

affine8_extent_t affine8_extent_s32(const int32_t *sums, uint32_t n);

/* out[i] = clamp(zero + R(sums[i], factor), -128, 127). `within`: the caller knows that the clamp changes none. `out`
   may begin at the same address as `sums`. */
void affine8_requantize_s32(const int32_t *sums, uint32_t n, affine8_factor_t factor, int8_t zero, bool within,
                            int8_t *out);

/* gradient[i] += c * float(sums[i]), the product rounded before it is added; the sums of one channel at a time are
   `sum_step` apart, its gradients `step`. */
void affine8_add_gradient(const int32_t *sums, uint32_t n, uint32_t sum_step, float c, uint32_t step, float *gradient);
