#include "kernels/pooling.h"

#include "kernels/tflite_windows.h"

/* The largest of one channel, over `h` by `w` positions that are `row` and `column` bytes apart. */
static int32_t largest(const int8_t *in, uint32_t h, uint32_t w, uint32_t row, uint32_t column) {
    int32_t found = *in;
    for (uint32_t i = 0; i < h; i++) {
        for (uint32_t j = 0; j < w; j++) {
            const int32_t value = in[i * row + j * column];
            found = value > found ? value : found;
        }
    }
    return found;
}

void tflite_max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out) {
    const uint32_t column = shape->in_c, row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            const int8_t *window = in + vertical.at * row + horizontal.at * column;
            for (uint32_t c = 0; c < column; c++) {
                int32_t value = largest(window + c, vertical.inside, horizontal.inside, row, column);
                value = value > act_max ? act_max : value;
                *out++ = (int8_t)(value < act_min ? act_min : value);
            }
        }
    }
}
