#include "kernels/convolution.h"

#include "kernels/tflite_gradient_sums_s8.h"

void tflite_conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                      int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const affine8_errors_t all = {.error = error, .count = shape->out_c};
    tflite_patches_gradient_s8(in, &all, shape, input_zero, scratch, gradient);
}
