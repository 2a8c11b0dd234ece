/* Random layers in TFLite's convention. */
#pragma once

#include <stdbool.h>

#include "kernels/shapes.h"
#include "kernels/tflite_layer.h"

/* Any kernel, stride and padding that docs/arithmetic-tflite.md, section 2, allows. */
layer_shape_t draw_window(bool depthwise);
layer_shape_t draw_pointwise(void);

/* `n` values of all of int8. */
int8_t *draw_bytes(uint32_t n);

/* A layer with `channels` of them; sums that are `taps` products long land on all of int8. draw_layer_free gives its
   arrays back. */
tflite_layer_t draw_layer(uint32_t channels, uint32_t taps);
void draw_layer_free(tflite_layer_t *layer);
