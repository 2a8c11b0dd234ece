/* Error of the input of pointwise in TFLite's convention: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_POINTWISE_S8_INPUT_ERROR_H
#define TFLITE_POINTWISE_S8_INPUT_ERROR_H

#include <stdint.h>

#include "kernels/shapes.h"

/* acc[y][x][c]: the exact sum of weight times error. */
void tflite_pointwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int32_t *acc);

#endif
