#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_pointwise_weight_gradient_cores.c */

#include "kernels/affine8.h"

void affine8_pointwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int32_t *gradient) {
    affine8_errors_t position = *errors;
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0; left--) {
        affine8_fully_connected_weight_gradient(in, &position, shape->in_c, input_zero, gradient);
        position.error += errors->count;
        in += shape->in_c;
    }
}

#endif
