#include "kernels/depthwise_f32.h"
#include "kernels/tap_outputs.h"

/* The gradient of one channel of the tap at (ky, kx). */
static float sum_outputs(const float *in, const float *error, const layer_shape_t *shape, const tap_outputs_t *rows,
                         const tap_outputs_t *columns) {
    const uint32_t channels = shape->in_c;
    float sum = 0.0f;
    for (uint32_t y = rows->first; y < rows->end; y++) {
        const uint32_t row = rows->input + (y - rows->first) * shape->stride_h;
        for (uint32_t x = columns->first; x < columns->end; x++) {
            const uint32_t column = columns->input + (x - columns->first) * shape->stride_w;
            sum = add_product_f32(sum, in[(row * shape->in_w + column) * channels],
                                  error[(y * shape->out_w + x) * channels]);
        }
    }
    return sum;
}

void depthwise_f32_weight_gradient(const float *in, const float *error, const layer_shape_t *shape, float *gradient) {
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        const tap_outputs_t rows = outputs_of_tap(ky, shape->stride_h, shape->padding_h, shape->in_h, shape->out_h);
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            const tap_outputs_t columns =
                outputs_of_tap(kx, shape->stride_w, shape->padding_w, shape->in_w, shape->out_w);
            for (uint32_t c = 0; c < shape->in_c; c++, gradient++) {
                *gradient = *gradient + sum_outputs(in + c, error + c, shape, &rows, &columns);
            }
        }
    }
}
