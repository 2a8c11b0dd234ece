#include "kernels/convolution.h"

#include "kernels/depthwise_planes_s8.h"

void tflite_depthwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    depthwise_planes_s8(in, weights, 0, shape, layer, scratch, out);
}

void tflite_depthwise_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape,
                                     int8_t *scratch, int32_t *acc) {
    const affine8_errors_t all = {.error = error, .count = shape->in_c};
    depthwise_planes_input_error_s8(&all, weights, 0, shape, scratch, acc);
}

void tflite_depthwise_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                         int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const affine8_errors_t all = {.error = error, .count = shape->in_c};
    depthwise_planes_weight_gradient_s8(in, &all, shape, input_zero, scratch, gradient);
}
