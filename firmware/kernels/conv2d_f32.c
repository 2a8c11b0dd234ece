#include "kernels/fpu.h"

#if !KERNELS_FPU /* else conv2d_f32_fpu.c */

#include "kernels/conv2d_f32.h"

#include "kernels/tflite_windows.h"

/* The products of a window, from the first position and the first tap inside the image. */
static float sum_window(const float *in, const float *weights, const layer_shape_t *shape, uint32_t rows,
                        uint32_t row_products) {
    const uint32_t input_row = (uint32_t)shape->in_w * shape->in_c,
                   kernel_row = (uint32_t)shape->kernel_w * shape->in_c;
    float sum = 0.0f;
    for (; rows > 0; rows--, in += input_row, weights += kernel_row) {
        for (uint32_t i = 0; i < row_products; i++) {
            sum = add_product_f32(sum, weights[i], in[i]);
        }
    }
    return sum;
}

void conv2d_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                const limits_f32_t *limits, float *out) {
    const uint32_t c = shape->in_c, taps = (uint32_t)shape->kernel_h * shape->kernel_w * c;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *from = in + (rows.at * shape->in_w + columns.at) * c;
            const float *tap = weights + (rows.before * shape->kernel_w + columns.before) * c;
            for (uint32_t o = 0; o < shape->out_c; o++, tap += taps) {
                const float sum = sum_window(from, tap, shape, rows.inside, columns.inside * c);
                *out++ = clamp_f32(sum + bias[o], limits->least, limits->most);
            }
        }
    }
}

#endif
