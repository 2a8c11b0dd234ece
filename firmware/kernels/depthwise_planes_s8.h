/* depthwise of the formats tflite8 and affine8, channel by channel. Private to their kernels. In tflite8 the zero
   points of weights and errors are 0, and no list of channels is kept. */
#pragma once

#include <stddef.h>

#include "kernels/affine8.h"
#include "kernels/requantize.h"

/* Forward pass. */
void depthwise_planes_s8(const int8_t *in, const int8_t *weights, int8_t weight_zero, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

/* Error of the input; `kept` NULL: all channels are. */
void depthwise_planes_input_error_s8(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                     const layer_shape_t *shape, int8_t *scratch, int32_t *acc);

/* Weight gradient, gradient[ky][kx][i] of the i-th channel that is kept; `kept` NULL: all are. */
void depthwise_planes_weight_gradient_s8(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient);

/* The i-th channel that is kept; its errors lie among those of all channels. */
static inline uint32_t depthwise_channel(const affine8_errors_t *errors, uint32_t i) {
    return errors->kept == NULL ? i : errors->kept[i];
}
