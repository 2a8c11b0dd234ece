#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else max_pool_s8_dsp.c, max_pool_s8_m0.c */

#include "kernels/pooling.h"

/* The maximum of one channel of a window, k x k positions `column` and `row` bytes apart. */
static inline int8_t window_maximum(const int8_t *in, uint32_t k, uint32_t column, uint32_t row) {
    int8_t maximum = *in;
    for (uint32_t ky = 0; ky < k; ky++) {
        for (uint32_t kx = 0; kx < k; kx++) {
            const int8_t value = in[ky * row + kx * column];
            maximum = value > maximum ? value : maximum;
        }
    }
    return maximum;
}

static inline void pool(const int8_t *in, const layer_shape_t *shape, uint32_t k, int8_t *out) {
    const uint32_t column = shape->in_c;
    const uint32_t row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const int8_t *window = in + y * k * row + x * k * column;
            for (uint32_t c = 0; c < column; c++) {
                *out++ = window_maximum(window + c, k, column, row);
            }
        }
    }
}

void max_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t *out) {
    if (shape->kernel_h == 2) {
        pool(in, shape, 2, out); /* unrolled by the compiler */
    } else {
        pool(in, shape, shape->kernel_h, out);
    }
}

#endif
