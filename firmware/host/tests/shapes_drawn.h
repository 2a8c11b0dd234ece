/* Random shapes of layers. */
#ifndef SHAPES_DRAWN_H
#define SHAPES_DRAWN_H

#include "kernels/shapes.h"

layer_shape_t draw_conv2d(void);
layer_shape_t draw_max_pool(void);
uint32_t conv2d_weights(const layer_shape_t *shape);

#endif
