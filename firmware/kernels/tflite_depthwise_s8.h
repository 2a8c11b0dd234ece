/* Depthwise convolution with multiplier 1 in the format tflite8, forward and backward: docs/arithmetic-tflite.md,
   sections 3 and
   5. Any kernel, stride and padding. Weights are [ky][kx][c]. Each scratch function returns the buffer's
   size in bytes. */
#pragma once

#include <stdint.h>

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* Forward pass. */
uint64_t tflite_depthwise_s8_scratch(const layer_shape_t *shape);
void tflite_depthwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

/* Error of the input: acc[y][x][c] = the exact sum of weight * error. What falls on the padding is dropped. */
uint64_t tflite_depthwise_s8_input_error_scratch(const layer_shape_t *shape);
void tflite_depthwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int8_t *scratch, int32_t *acc);

/* Weight gradient: gradient[ky][kx][c] += the exact sum of error * (input - input_zero), modulo 2^32; the padding adds
   nothing. */
uint64_t tflite_depthwise_s8_weight_gradient_scratch(const layer_shape_t *shape);
void tflite_depthwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient);
