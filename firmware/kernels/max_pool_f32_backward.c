#include <string.h>

#include "kernels/pooling_f32.h"

/* Offset of the first maximum of one channel of a window. */
static uint32_t first_maximum(const float *in, const layer_shape_t *shape) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    uint32_t found = 0;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            const uint32_t at = ky * row + kx * column;
            found = in[at] > in[found] ? at : found;
        }
    }
    return found;
}

void max_pool_f32_backward(const float *in, const float *error, const layer_shape_t *shape, bool further,
                           float *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    if (!further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = window; c < window + channels; c++) {
                give_error_f32(&input_error[c + first_maximum(in + c, shape)], *error++, further);
            }
        }
    }
}
