#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1 /* else affine8_pointwise_weight_gradient.c */

#include "kernels/affine8.h"
#include "kernels/tflite_gradient_sums_s8.h"

void affine8_pointwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int32_t *gradient) {
    const uint32_t positions = (uint32_t)shape->in_h * shape->in_w, taps = shape->in_c;
    tflite_gradient_sums_s8(in, taps, positions, errors->error, errors->zero, errors->count, taps, gradient);
    tflite_unfold_gradient(errors, positions, taps, input_zero, gradient);
}

#endif
