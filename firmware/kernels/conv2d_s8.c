#include "kernels/conv2d_s8.h"

#include "kernels/pad_input_s8.h"

uint64_t conv2d_s8_scratch(const layer_shape_t *shape) {
    return pad_input_s8_scratch(shape);
}

/* The kernel window: `rows` runs of `row` contiguous taps, `step` bytes apart in the padded input. */
typedef struct {
    uint32_t rows, row, step;
} window_t;

/* Two positions by two output channels: four products for four loads, and all of it stays in registers. */
static inline void two_by_two(const int8_t *x0, const int8_t *x1, const int8_t *w0, const int8_t *w1, window_t window,
                              int32_t sum[4]) {
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (uint32_t ky = 0; ky < window.rows; ky++) {
        for (uint32_t j = 0; j < window.row; j++) {
            s00 += x0[j] * w0[j];
            s01 += x0[j] * w1[j];
            s10 += x1[j] * w0[j];
            s11 += x1[j] * w1[j];
        }
        x0 += window.step;
        x1 += window.step;
        w0 += window.row;
        w1 += window.row;
    }
    sum[0] = s00;
    sum[1] = s01;
    sum[2] = s10;
    sum[3] = s11;
}

/* All channels of two positions. An odd last channel is computed twice. */
static void two_positions(const int8_t *x0, const int8_t *x1, const int8_t *weights, window_t window, uint32_t channels,
                          int32_t *acc0, int32_t *acc1) {
    const uint32_t taps = window.rows * window.row;
    for (uint32_t o = 0; o < channels; o += 2) {
        const uint32_t next = o + 1 < channels ? o + 1 : o;
        int32_t sum[4];
        two_by_two(x0, x1, weights + o * taps, weights + next * taps, window, sum);
        acc0[o] = sum[0];
        acc0[next] = sum[1];
        acc1[o] = sum[2];
        acc1[next] = sum[3];
    }
}

void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    pad_input_s8(in, shape, scratch);
    const int8_t *padded = scratch;
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    const window_t window = {
        .rows = shape->kernel_h,
        .row = shape->kernel_w * in_c,
        .step = (shape->in_w + 2u * shape->padding) * in_c,
    };
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x += 2) {
            const uint32_t next = x + 1u < shape->out_w ? x + 1u : x; /* an odd last position is computed twice */
            two_positions(padded + x * in_c, padded + next * in_c, weights, window, out_c, acc + x * out_c,
                          acc + next * out_c);
        }
        padded += window.step;
        acc += shape->out_w * out_c;
    }
}
