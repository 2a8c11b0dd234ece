#include "kernels/fpu.h"

#if !KERNELS_FPU /* else conv2d_f32_input_error_fpu.c */

#include "kernels/conv2d_f32.h"
#include "kernels/tap_outputs.h"

/* The products of all outputs that read one input through a tap, output channel by output channel. */
static float add_channels(float sum, const float *error, const float *weights, const kept_f32_t *kept, uint32_t taps) {
    if (kept->list == NULL) {
        for (uint32_t o = 0; o < kept->count; o++, weights += taps) {
            sum = add_product_f32(sum, *weights, error[o]);
        }
        return sum;
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        sum = add_product_f32(sum, weights[kept->list[i] * taps], error[i]);
    }
    return sum;
}

/* The error of channel `c` of the input at (y, x). */
static float sum_taps(const float *error, const kept_f32_t *kept, const float *weights, const layer_shape_t *shape,
                      uint32_t y, uint32_t x) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
    float sum = 0.0f;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t row = output_of_tap(y, ky, shape->stride_h, shape->padding_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w && row != NO_OUTPUT; kx++) {
            const uint32_t column = output_of_tap(x, kx, shape->stride_w, shape->padding_w, shape->out_w);
            if (column != NO_OUTPUT) {
                sum = add_channels(sum, error + (row * shape->out_w + column) * kept->count,
                                   weights + (ky * shape->kernel_w + kx) * shape->in_c, kept, taps);
            }
        }
    }
    return sum;
}

void conv2d_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                            const layer_shape_t *shape, bool further, float *input_error) {
    for (uint32_t y = 0; y < shape->in_h; y++) {
        for (uint32_t x = 0; x < shape->in_w; x++) {
            for (uint32_t c = 0; c < shape->in_c; c++) {
                give_error_f32(input_error++, sum_taps(error, kept, weights + c, shape, y, x), further);
            }
        }
    }
}

#endif
