#include "kernels/fpu.h"

#if !KERNELS_FPU /* else depthwise_f32_fpu.c */

#include "kernels/depthwise_f32.h"

#include "kernels/tflite_windows.h"

/* The products of one channel of a window, from the first position and the first tap inside the image. */
static float sum_window(const float *in, const float *weights, const layer_shape_t *shape, uint32_t rows,
                        uint32_t columns) {
    const uint32_t channels = shape->in_c;
    float sum = 0.0f;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            sum = add_product_f32(sum, weights[(i * shape->kernel_w + j) * channels],
                                  in[(i * shape->in_w + j) * channels]);
        }
    }
    return sum;
}

void depthwise_f32(const float *in, const float *weights, const float *bias, const layer_shape_t *shape,
                   const limits_f32_t *limits, float *out) {
    const uint32_t channels = shape->in_c;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *from = in + (rows.at * shape->in_w + columns.at) * channels;
            const float *tap = weights + (rows.before * shape->kernel_w + columns.before) * channels;
            for (uint32_t c = 0; c < channels; c++) {
                const float sum = sum_window(from + c, tap + c, shape, rows.inside, columns.inside);
                *out++ = clamp_f32(sum + bias[c], limits->least, limits->most);
            }
        }
    }
}

#endif
