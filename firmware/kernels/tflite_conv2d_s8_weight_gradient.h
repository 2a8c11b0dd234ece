/* Weight gradient of conv2d in TFLite's convention: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_CONV2D_S8_WEIGHT_GRADIENT_H
#define TFLITE_CONV2D_S8_WEIGHT_GRADIENT_H

#include <stdint.h>

#include "kernels/shapes.h"

/* Bytes of scratch that tflite_conv2d_s8_weight_gradient needs. */
uint64_t tflite_conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape);

/* gradient[o][ky][kx][c] += the exact sum of error times (input - input_zero), modulo 2^32; the padding adds nothing. */
void tflite_conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                      int8_t input_zero, int8_t *scratch, int32_t *gradient);

#endif
