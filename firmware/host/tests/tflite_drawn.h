/* Random layers in TFLite's convention. */
#pragma once

#include <stdbool.h>

#include "graph/file.h"
#include "kernels/requantize.h"
#include "kernels/shapes.h"

/* Any kernel, stride and padding that docs/arithmetic-tflite.md, section 2, allows. */
layer_shape_t draw_window(bool depthwise);
layer_shape_t draw_pointwise(void);

/* A layer of this shape, as it is in a network file. */
graph_layer_t layer_of(enum op op, const layer_shape_t *shape);

/* Bytes of scratch that the memory plan has for the kernels of a layer: forward, of the weights' gradient, of the
   input's error. */
uint64_t forward_scratch(enum op op, const layer_shape_t *shape);
uint64_t gradient_scratch(enum op op, const layer_shape_t *shape);
uint64_t input_error_scratch(enum op op, const layer_shape_t *shape);

/* `n` values of all of int8. */
int8_t *draw_bytes(uint32_t n);

/* A layer with `channels` of them; sums that are `taps` products long land on all of int8. draw_layer_free gives its
   arrays back. */
tflite_layer_t draw_layer(uint32_t channels, uint32_t taps);
void draw_layer_free(tflite_layer_t *layer);
