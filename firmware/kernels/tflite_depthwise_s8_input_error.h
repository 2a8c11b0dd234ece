/* Error of the input of depthwise in TFLite's convention: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_DEPTHWISE_S8_INPUT_ERROR_H
#define TFLITE_DEPTHWISE_S8_INPUT_ERROR_H

#include <stdint.h>

#include "kernels/shapes.h"

/* Bytes of scratch that tflite_depthwise_s8_input_error needs. */
uint64_t tflite_depthwise_s8_input_error_scratch(const layer_shape_t *shape);

/* acc[y][x][c]: the exact sum of weight times error; what falls into the padding is dropped. */
void tflite_depthwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int8_t *scratch, int32_t *acc);

#endif
