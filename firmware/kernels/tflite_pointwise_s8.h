/* conv2d with a 1 x 1 kernel, stride 1 and no padding, in TFLite's convention: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_POINTWISE_S8_H
#define TFLITE_POINTWISE_S8_H

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* weights[o][c]; `out` must not overlap `in`. */
void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                         int8_t *out);

#endif
