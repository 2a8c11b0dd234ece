/* Depthwise convolution, multiplier 1, in TFLite's convention: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_DEPTHWISE_S8_H
#define TFLITE_DEPTHWISE_S8_H

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* Bytes of scratch that tflite_depthwise_s8 needs. */
uint64_t tflite_depthwise_s8_scratch(const layer_shape_t *shape);

/* weights[ky][kx][c]; any kernel, stride and padding. */
void tflite_depthwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

#endif
