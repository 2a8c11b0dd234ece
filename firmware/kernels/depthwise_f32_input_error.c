#include "kernels/depthwise_f32.h"
#include "kernels/tap_outputs.h"

/* The error of one channel of the input at (y, x). */
static float sum_taps(const float *error, const float *weights, const layer_shape_t *shape, uint32_t y, uint32_t x) {
    const uint32_t channels = shape->in_c;
    float sum = 0.0f;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t row = output_of_tap(y, ky, shape->stride, shape->padding, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w && row != NO_OUTPUT; kx++) {
            const uint32_t column = output_of_tap(x, kx, shape->stride, shape->padding, shape->out_w);
            if (column != NO_OUTPUT) {
                sum = add_product_f32(sum, weights[(ky * shape->kernel_w + kx) * channels],
                                      error[(row * shape->out_w + column) * channels]);
            }
        }
    }
    return sum;
}

void depthwise_f32_input_error(const float *error, const float *weights, const layer_shape_t *shape, bool further,
                               float *input_error) {
    for (uint32_t y = 0; y < shape->in_h; y++) {
        for (uint32_t x = 0; x < shape->in_w; x++) {
            for (uint32_t c = 0; c < shape->in_c; c++) {
                give_error_f32(input_error++, sum_taps(error + c, weights + c, shape, y, x), further);
            }
        }
    }
}
