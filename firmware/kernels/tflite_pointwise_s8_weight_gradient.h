/* Weight gradient of pointwise in TFLite's convention: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_POINTWISE_S8_WEIGHT_GRADIENT_H
#define TFLITE_POINTWISE_S8_WEIGHT_GRADIENT_H

#include <stdint.h>

#include "kernels/shapes.h"

/* gradient[o][c] += the exact sum of error times (input - input_zero), modulo 2^32. */
void tflite_pointwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int32_t *gradient);

#endif
