#include "kernels/pooling.h"

#include <string.h>

void tflite_average_pool_s8_backward(const int8_t *error, const layer_shape_t *shape, int8_t *input_error) {
    const uint32_t channels = shape->in_c, row = shape->in_w * channels;
    memset(input_error, 0, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++, error += channels) {
            int8_t *window = input_error + y * shape->stride_h * row + x * shape->stride_w * channels;
            for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
                for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
                    memcpy(window + ky * row + kx * channels, error, channels);
                }
            }
        }
    }
}
