#include "kernels/pooling.h"

#include <string.h>

/* Offset of the first maximum of one channel of a window. */
static uint32_t first_maximum(const int8_t *in, const layer_shape_t *shape) {
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

void tflite_max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                 int8_t *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    memset(input_error, 0, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t c = 0; c < channels; c++) {
                input_error[window + c + first_maximum(in + window + c, shape)] = *error++;
            }
        }
    }
}
