#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if KERNELS_DSP || KERNELS_THUMB1 /* else affine8_depthwise.c, affine8_depthwise_*.c */

#include "kernels/affine8_shared.h"
#include "kernels/depthwise_planes_s8.h"

void affine8_depthwise(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                       const affine8_layer_t *layer, int8_t *scratch, int8_t *out) {
    const affine8_shared_t whole = affine8_shared(layer);
    depthwise_planes_s8(in, weights, layer->weight_zero, shape, &whole.shared, scratch, out);
}

void affine8_depthwise_input_error(const affine8_errors_t *errors, const int8_t *weights, int8_t weight_zero,
                                   const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    depthwise_planes_input_error_s8(errors, weights, weight_zero, shape, scratch, acc);
}

void affine8_depthwise_weight_gradient(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                       int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    depthwise_planes_weight_gradient_s8(in, errors, shape, input_zero, scratch, gradient);
}

#endif
