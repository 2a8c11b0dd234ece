#include "kernels/convolution.h"
#include "kernels/tflite_gradient_sums_s8.h"

void tflite_patches_gradient_s8(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                int8_t input_zero, int8_t *scratch, int32_t *gradient) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c, channels = errors->count;
    const uint32_t positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t first = 0; first < positions; first += TFLITE_PATCHES) {
        const uint32_t n = positions - first < TFLITE_PATCHES ? positions - first : TFLITE_PATCHES;
        tflite_patches_s8(in, shape, input_zero, first, n, scratch);
        tflite_gradient_sums_s8(scratch, taps, n, errors->error + first * channels, errors->zero, channels, taps,
                                gradient);
    }
    tflite_unfold_gradient(errors, positions, taps, input_zero, gradient);
}
