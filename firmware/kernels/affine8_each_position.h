/* The error of a pointwise layer's input, position by position. Private to its kernels. */
#pragma once

#include "kernels/affine8.h"

static inline void affine8_each_position_input_error(const affine8_errors_t *errors, const int8_t *weights,
                                                     int8_t weight_zero, const layer_shape_t *shape, int32_t *acc) {
    affine8_errors_t position = *errors;
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--) {
        affine8_fully_connected_input_error(&position, weights, weight_zero, shape->in_c, acc);
        position.error += errors->count;
        acc += shape->in_c;
    }
}
