/* conv2d and pointwise (conv2d with a 1 x 1 kernel, stride 1 and no padding) in the format tflite8, forward and
   backward: docs/arithmetic-tflite.md, sections 3 and 5. conv2d takes any kernel, stride and padding. Weights are
   [o][ky][kx][c]. Each kernel has a scratch function where it needs a buffer; it returns the buffer's size in bytes. */
#pragma once

#include <stdint.h>

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* Forward pass of conv2d; `scratch` is aligned to a word. */
uint64_t tflite_conv2d_s8_scratch(const layer_shape_t *shape);
void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out);

/* The same for rows first..first + count - 1 of the output, which are written from `out` on. */
void tflite_conv2d_rows_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                           const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out);

/* Error of the input of conv2d: acc[y][x][c] = the exact sum of weight * error. What falls on the
   padding is dropped. */
uint64_t tflite_conv2d_s8_input_error_scratch(const layer_shape_t *shape);
void tflite_conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                  int32_t *scratch, int32_t *acc);

/* Weight gradient of conv2d: gradient[o][ky][kx][c] += the exact sum of error * (input - input_zero), modulo 2^32; the
   padding adds nothing. */
uint64_t tflite_conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape);
void tflite_conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                      int8_t input_zero, int8_t *scratch, int32_t *gradient);

/* Forward pass of pointwise; `out` must not overlap `in`; `scratch` is aligned to a word. */
uint64_t tflite_pointwise_s8_scratch(const layer_shape_t *shape);
void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

/* Error of the input of pointwise: acc[y][x][c] = the exact sum of weight * error. */
void tflite_pointwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int32_t *acc);

/* Weight gradient of pointwise: gradient[o][c] += the exact sum of error * (input - input_zero), modulo 2^32. */
void tflite_pointwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int32_t *gradient);
