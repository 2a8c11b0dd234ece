/* Shapes of layers, random or chosen. */
#pragma once

#include "kernels/shapes.h"

layer_shape_t draw_conv2d(void);
layer_shape_t conv2d_shape(int32_t in_h, int32_t in_w, int32_t in_c, int32_t out_c, int32_t kernel, int32_t padding);
layer_shape_t draw_max_pool(void);
uint32_t conv2d_weights(const layer_shape_t *shape);
