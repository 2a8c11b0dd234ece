#include "kernels/dsp.h"

#if !KERNELS_DSP /* else affine8_pointwise_input_error_dsp.c */

#include "kernels/affine8_each_position.h"

void affine8_pointwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int32_t *acc) {
    affine8_each_position_input_error(errors, weights, weight_zero, shape, acc);
}

#endif
