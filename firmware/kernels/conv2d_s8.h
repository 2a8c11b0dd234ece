/* Forward pass of conv2d: docs/arithmetic.md, section 4. */
#ifndef CONV2D_S8_H
#define CONV2D_S8_H

#include <stdint.h>

#include "kernels/shapes.h"

/* Bytes of scratch that conv2d_s8 needs. */
uint64_t conv2d_s8_scratch(const layer_shape_t *shape);

/* acc[y][x][o]: the exact sum of weight times input, stride 1. */
void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc);

#endif
