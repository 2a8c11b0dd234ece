/* Convolutions, forward and backward: conv2d in the format bfp8 (docs/arithmetic.md, sections 4 and 7); conv2d,
   pointwise and depthwise in the format tflite8 (docs/arithmetic-tflite.md, sections 3 and 5).

   A kernel of bfp8 has a function KERNEL_scratch, which returns the size of its buffer `scratch` in bytes. The sizes
   for the kernels of tflite8 are in formats/tflite8_sizes.h. */
#pragma once

#include <stdint.h>

#include "kernels/requantize.h"
#include "kernels/shapes.h"

/* bfp8: stride 1, weights [o][ky][kx][c]. Sums are exact in int32. */

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

/* tflite8: any kernel, stride and padding, weights [o][ky][kx][c]. Pointwise is conv2d with a 1 x 1 kernel, stride 1
   and no padding. */

/* How the kernels cut a layer into pieces, and so what they need as scratch: docs/memory.md, sizes of scratch. */
enum {
    /* conv2d: the least size of a band of rows of the output, in products for the work done once a band and channel,
       and in positions for the work done once a weight. So windows of few taps make bands of more rows. */
    TFLITE_BAND_PRODUCTS = 3072,
    TFLITE_BAND_POSITIONS = 16,
    /* pointwise: inputs of a block, and its positions. They pay for the work on the weights, done once a block. */
    TFLITE_BLOCK_INPUTS = 2048,
    TFLITE_BLOCK_LEAST = 16,
    TFLITE_BLOCK_MOST = 64,
    /* Weight gradient of conv2d: patches held at once, so many products for one load and store of a gradient. */
    TFLITE_PATCHES = 32,
    TFLITE_SLACK = 8,      /* bytes after its data that a kernel may read */
    TFLITE_BAND_WORK = 16, /* bytes that the work on the weights of a band needs at most, besides 8 for each tap */
};

/* Forward pass of conv2d; `scratch` is aligned to a word. */
void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out);

/* The same for rows first..first + count - 1 of the output, which are written from `out` on. */
void tflite_conv2d_rows_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                           const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out);

/* Error of the input of conv2d: acc[y][x][c] = the exact sum of weight * error. What falls on the padding is
   dropped. */
void tflite_conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                  int32_t *scratch, int32_t *acc);

/* Weight gradient of conv2d: gradient[o][ky][kx][c] += the exact sum of error * (input - input_zero), modulo 2^32; the
   padding adds nothing. */
void tflite_conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                      int8_t input_zero, int8_t *scratch, int32_t *gradient);

/* Forward pass of pointwise; `out` must not overlap `in`; `scratch` is aligned to a word. */
void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

/* Error of the input of pointwise: acc[y][x][c] = the exact sum of weight * error. */
void tflite_pointwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int32_t *acc);

/* Weight gradient of pointwise: gradient[o][c] += the exact sum of error * (input - input_zero), modulo 2^32. */
void tflite_pointwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int32_t *gradient);

/* tflite8: depthwise with multiplier 1, any kernel, stride and padding, weights [ky][kx][c]. */

/* Forward pass. */
void tflite_depthwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

/* Error of the input: acc[y][x][c] = the exact sum of weight * error. What falls on the padding is dropped. */
void tflite_depthwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int8_t *scratch, int32_t *acc);

/* Weight gradient: gradient[ky][kx][c] += the exact sum of error * (input - input_zero), modulo 2^32; the padding adds
   nothing. */
void tflite_depthwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient);
