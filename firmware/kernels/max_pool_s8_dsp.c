#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/pooling.h"

static inline uint32_t maxima(uint32_t a, uint32_t b) {
    return where_at_least_s8(a, b, a, b);
}

/* The maxima of four channels of a window, k x k positions `column` and `row` bytes apart. */
static inline uint32_t four_maxima(const int8_t *in, uint32_t k, uint32_t column, uint32_t row) {
    uint32_t maximum = load_word(in);
    for (uint32_t ky = 0; ky < k; ky++) {
        for (uint32_t kx = ky == 0 ? 1 : 0; kx < k; kx++) {
            maximum = maxima(maximum, load_word(in + ky * row + kx * column));
        }
    }
    return maximum;
}

static inline int8_t one_maximum(const int8_t *in, uint32_t k, uint32_t column, uint32_t row) {
    int8_t maximum = *in;
    for (uint32_t ky = 0; ky < k; ky++) {
        for (uint32_t kx = 0; kx < k; kx++) {
            const int8_t value = in[ky * row + kx * column];
            maximum = value > maximum ? value : maximum;
        }
    }
    return maximum;
}

/* All channels of a window. The last four of them may have been among the first. */
static inline void pool_window(const int8_t *in, uint32_t k, uint32_t column, uint32_t row, int8_t *out) {
    if (column < 4) {
        for (uint32_t c = 0; c < column; c++) {
            out[c] = one_maximum(in + c, k, column, row);
        }
        return;
    }
    const uint32_t last = column - 4;
    for (uint32_t c = 0; c < last; c += 4) {
        store_word(out + c, four_maxima(in + c, k, column, row));
    }
    store_word(out + last, four_maxima(in + last, k, column, row));
}

static inline void pool(const int8_t *in, const layer_shape_t *shape, uint32_t k, int8_t *out) {
    const uint32_t column = shape->in_c;
    const uint32_t row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const int8_t *window = in + y * k * row;
        for (uint32_t x = 0; x < shape->out_w; x++, window += k * column, out += column) {
            pool_window(window, k, column, row, out);
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
