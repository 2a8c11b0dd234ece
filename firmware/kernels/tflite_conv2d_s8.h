/* conv2d in TFLite's convention: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_CONV2D_S8_H
#define TFLITE_CONV2D_S8_H

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* Bytes of scratch that tflite_conv2d_s8 needs. */
uint64_t tflite_conv2d_s8_scratch(const layer_shape_t *shape);

/* weights[o][ky][kx][c]; any kernel, stride and padding; `scratch` is aligned to a word. */
void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out);

/* Rows first..first + count - 1 of the output only; `out` is where they go. */
void tflite_conv2d_rows_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                           const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out);

#endif
