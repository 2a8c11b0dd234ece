#include <string.h>

#include "kernels/pooling_f32.h"

/* The part of each position of one channel of a window. */
static void give_window(float part, const layer_shape_t *shape, bool further, float *input_error) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            give_error_f32(&input_error[ky * row + kx * column], part, further);
        }
    }
}

void average_pool_f32_backward(const float *error, const layer_shape_t *shape, bool further, float *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    const float n = (float)((uint32_t)shape->kernel_h * shape->kernel_w);
    if (!further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = window; c < window + channels; c++) {
                const float part = *error++ / n;
                give_window(part + 0.0f, shape, further, input_error + c); /* a quotient may have become -0 */
            }
        }
    }
}
