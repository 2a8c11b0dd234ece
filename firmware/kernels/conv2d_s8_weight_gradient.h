/* Weight gradient of conv2d: docs/arithmetic.md, section 7. */
#ifndef CONV2D_S8_WEIGHT_GRADIENT_H
#define CONV2D_S8_WEIGHT_GRADIENT_H

#include <stdint.h>

#include "kernels/shapes.h"

/* Bytes of scratch that conv2d_s8_weight_gradient needs. */
uint64_t conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape);

/* gradient = sat32(gradient + trunc(g / 2^shift)) for each weight, g the exact sum over the positions of error times input. */
void conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int32_t shift,
                               int8_t *scratch, int32_t *gradient);

#endif
