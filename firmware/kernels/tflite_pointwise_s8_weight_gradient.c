#include "kernels/convolution.h"

#include "kernels/tflite_gradient_sums_s8.h"

void tflite_pointwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int32_t *gradient) {
    const uint32_t positions = (uint32_t)shape->in_h * shape->in_w, channels = shape->out_c, taps = shape->in_c;
    const affine8_errors_t all = {.error = error, .count = channels};
    tflite_gradient_sums_s8(in, taps, positions, error, 0, channels, taps, gradient);
    tflite_unfold_gradient(&all, positions, taps, input_zero, gradient);
}
