#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1 /* else affine8_conv2d_input_error.c, affine8_fully_connected_input_error.c */

#include <string.h>

#include "kernels/conv_input_error.h"

void affine8_conv2d_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                const layer_shape_t *shape, int32_t *scratch, int32_t *acc) {
    (void)scratch;
    if (conv_error_widens(errors, shape)) {
        memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    } else {
        affine8_start_input_error(errors, weight_zero, shape, acc);
    }
    conv_add_input_error(errors, weights, weight_zero, shape, shape->stride_h, shape->stride_w, acc);
}

void affine8_fully_connected_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                         uint32_t inputs, int32_t *acc) {
    const int32_t start = -weight_zero * sum_of_errors(errors, errors->error);
    for (uint32_t j = 0; j < inputs; j++) {
        acc[j] = start;
    }
    matrix_add_input_error(errors, weights, inputs, acc);
}

#endif
