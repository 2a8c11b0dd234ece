#include "kernels/affine8_elementwise.h"
#include "kernels/tflite_windows.h"

/* The sum of one channel, over `h` by `w` positions that are `row` and `column` bytes apart. */
static int32_t sum_of(const int8_t *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            sum += in[i * row + j * column];
        }
    }
    return sum;
}

/* floor(a / b), b > 0: C's division truncates. */
static inline int32_t divide_down(int32_t a, int32_t b) {
    return a / b - (a % b < 0);
}

void affine8_average_pool(const int8_t *in, const layer_shape_t *shape, bool floors, int8_t *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const int8_t *window = in + vertical.at * row + horizontal.at * column;
            const int32_t n = (int32_t)(vertical.inside * horizontal.inside), half = floors ? 0 : n / 2;
            for (uint32_t c = 0; c < column; c++) {
                const int32_t sum = sum_of(window + c, vertical.inside, horizontal.inside, row, column);
                *out++ = (int8_t)divide_down(sum + half, n);
            }
        }
    }
}
