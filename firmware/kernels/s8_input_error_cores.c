#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1 /* else conv2d_s8_input_error.c, fully_connected_s8_input_error.c */

#include <string.h>

#include "kernels/conv_input_error.h"
#include "kernels/convolution.h"
#include "kernels/fully_connected.h"

void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const affine8_errors_t all = {.error = error, .count = shape->out_c};
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    conv_add_input_error(&all, weights, 0, shape, 1, 1, acc);
}

void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc) {
    const affine8_errors_t all = {.error = error, .count = outputs};
    memset(acc, 0, inputs * sizeof acc[0]);
    matrix_add_input_error(&all, weights, inputs, acc);
}

#endif
