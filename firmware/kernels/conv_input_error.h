/* The error of the input of a layer with weights, of any format: every error adds its channel's weights to the inputs
   under its window. Private to the kernels for single cores. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/affine8.h"

/* acc += what these errors (`kept` NULL: all channels are) add, for windows `stride_h` and `stride_w` apart, by weights
   as they are stored; or less their zero point, if conv_error_widens(). */
void conv_add_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                          const layer_shape_t *shape, uint32_t stride_h, uint32_t stride_w, int32_t *acc);

/* Whether weights are widened for all positions, so that their zero point costs nothing. */
bool conv_error_widens(const affine8_errors_t *errors, const layer_shape_t *shape);

/* The same for a fully connected layer, by weights as they are stored. */
void matrix_add_input_error(const affine8_errors_t *errors, const int8_t *weights, uint32_t inputs, int32_t *acc);

/* The row of the weights that error `i` belongs to. */
static inline uint32_t row_of_error(const affine8_errors_t *errors, uint32_t i) {
    return errors->kept == NULL ? i : errors->kept[i];
}

/* The sum of the errors of a position. */
static inline int32_t sum_of_errors(const affine8_errors_t *errors, const int8_t *error) {
    const int8_t *const fours = error + errors->count / 4 * 4, *const end = error + errors->count;
    int32_t sum = -errors->zero * (int32_t)errors->count;
    for (; error != fours; error += 4) {
        sum += error[0] + error[1] + error[2] + error[3];
    }
    while (error != end) {
        sum += *error++;
    }
    return sum;
}
