#include "kernels/convolution.h"

#include "kernels/tflite_gradient_sums_s8.h"

void tflite_pointwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int32_t *gradient) {
    const uint32_t positions = (uint32_t)shape->in_h * shape->in_w;
    tflite_gradient_sums_s8(in, shape->in_c, positions, error, shape->out_c, shape->in_c, gradient);
    tflite_unfold_gradient(error, positions, shape->out_c, shape->in_c, input_zero, gradient);
}
