/* conv2d with a 1 x 1 kernel, stride 1 and no padding, in TFLite's convention: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_POINTWISE_S8_H
#define TFLITE_POINTWISE_S8_H

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* Bytes of scratch that tflite_pointwise_s8 needs. */
uint64_t tflite_pointwise_s8_scratch(const layer_shape_t *shape);

/* weights[o][c]; `out` must not overlap `in`; `scratch` is aligned to a word. */
void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

#endif
