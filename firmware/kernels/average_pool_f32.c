#include "kernels/pooling_f32.h"
#include "kernels/tflite_windows.h"

/* The sum of one channel, over `h` by `w` positions that are `row` and `column` elements apart. */
static float sum_of(const float *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    float sum = 0.0f;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            sum = sum + in[i * row + j * column];
        }
    }
    return sum;
}

void average_pool_f32(const float *in, const layer_shape_t *shape, float *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t rows = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t columns = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const float *window = in + rows.at * row + columns.at * column;
            const float n = (float)(rows.inside * columns.inside);
            for (uint32_t c = 0; c < column; c++) {
                const float mean = sum_of(window + c, rows.inside, columns.inside, row, column) / n;
                *out++ = mean + 0.0f; /* a quotient may have become -0 */
            }
        }
    }
}
