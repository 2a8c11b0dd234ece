#include <string.h>

#include "kernels/depthwise_f32.h"
#include "kernels/tap_outputs.h"

/* The error of one channel of the input at (y, x), from outputs of out_c channels. */
static float sum_taps(const float *error, const float *weights, const layer_shape_t *shape, uint32_t y, uint32_t x) {
    const uint32_t channels = shape->in_c, kept = shape->out_c;
    float sum = 0.0f;
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const uint32_t row = output_of_tap(y, ky, shape->stride_h, shape->padding_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w && row != NO_OUTPUT; kx++) {
            const uint32_t column = output_of_tap(x, kx, shape->stride_w, shape->padding_w, shape->out_w);
            if (column != NO_OUTPUT) {
                sum = add_product_f32(sum, weights[(ky * shape->kernel_w + kx) * channels],
                                      error[(row * shape->out_w + column) * kept]);
            }
        }
    }
    return sum;
}

/* Channels that are not kept get an error of 0, which is no change of a further one. */
void depthwise_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights,
                               const layer_shape_t *shape, bool further, float *input_error) {
    layer_shape_t packed = *shape;
    packed.out_c = (uint16_t)kept->count;
    if (kept->list != NULL && !further) {
        memset(input_error, 0, shape_inputs(shape) * sizeof *input_error);
    }
    for (uint32_t y = 0; y < shape->in_h; y++) {
        for (uint32_t x = 0; x < shape->in_w; x++, input_error += shape->in_c) {
            for (uint32_t i = 0; i < kept->count; i++) {
                const uint32_t c = kept->list == NULL ? i : kept->list[i];
                give_error_f32(&input_error[c], sum_taps(error + i, weights + c, &packed, y, x), further);
            }
        }
    }
}
