#include "kernels/tflite_conv2d_s8.h"

#include "kernels/tflite_gradient_sums_s8.h"

enum { POSITIONS = 32 }; /* patches held at once: so many products for one load and store of a gradient */

uint64_t tflite_conv2d_s8_weight_gradient_scratch(const layer_shape_t *shape) {
    return (uint64_t)POSITIONS * shape->kernel_h * shape->kernel_w * shape->in_c;
}

void tflite_conv2d_s8_weight_gradient(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                      int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c, out_c = shape->out_c;
    const uint32_t positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t first = 0; first < positions; first += POSITIONS) {
        const uint32_t n = positions - first < POSITIONS ? positions - first : POSITIONS;
        tflite_patches_s8(in, shape, input_zero, first, n, scratch);
        tflite_gradient_sums_s8(scratch, taps, n, error + first * out_c, out_c, taps, gradient);
    }
    tflite_unfold_gradient(error, positions, out_c, taps, input_zero, gradient);
}
