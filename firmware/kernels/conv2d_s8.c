#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else conv2d_s8_dsp.c, conv2d_s8_m0.c */

#include "kernels/conv2d_s8.h"

#include "kernels/pad_input_s8.h"

/* The kernel window: `rows` runs of `row` contiguous taps, with a `gap` between them in the padded input. */
typedef struct {
    uint32_t rows, row, gap;
} window_t;

/* Two positions by two output channels: four products for four loads, and all of it stays in registers. `chunk` divides the row;
   it is a constant to the compiler, which unrolls that many taps. */
static inline void two_by_two(const int8_t *x0, const int8_t *x1, const int8_t *w0, const int8_t *w1, window_t window,
                              uint32_t chunk, int32_t sum[4]) {
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    uint32_t rows = window.rows;
    do {
        const int8_t *end = x0 + window.row;
        do {
            for (uint32_t i = 0; i < chunk; i++) {
                s00 += x0[i] * w0[i];
                s01 += x0[i] * w1[i];
                s10 += x1[i] * w0[i];
                s11 += x1[i] * w1[i];
            }
            x0 += chunk;
            x1 += chunk;
            w0 += chunk;
            w1 += chunk;
        } while (x0 != end);
        x0 += window.gap;
        x1 += window.gap;
    } while (--rows > 0);
    sum[0] = s00;
    sum[1] = s01;
    sum[2] = s10;
    sum[3] = s11;
}

/* All channels of two positions. An odd last channel is computed twice. */
static inline void two_positions(const int8_t *x0, const int8_t *x1, const int8_t *weights, window_t window, uint32_t chunk,
                                 uint32_t channels, int32_t *acc0, int32_t *acc1) {
    const uint32_t taps = window.rows * window.row;
    for (uint32_t o = 0; o < channels; o += 2) {
        const uint32_t next = o + 1 < channels ? o + 1 : o;
        int32_t sum[4];
        two_by_two(x0, x1, weights + o * taps, weights + next * taps, window, chunk, sum);
        acc0[o] = sum[0];
        acc0[next] = sum[1];
        acc1[o] = sum[2];
        acc1[next] = sum[3];
    }
}

/* The kinds of rows: five taps, as the first layer of many networks has them, or by what divides their length. */
static void any_row(const int8_t *x0, const int8_t *x1, const int8_t *weights, window_t window, uint32_t channels, int32_t *acc0,
                    int32_t *acc1) {
    if (window.row == 5) {
        window.row = 5; /* known to the compiler from here on */
        two_positions(x0, x1, weights, window, 5, channels, acc0, acc1);
    } else if (window.row % 8 == 0) {
        two_positions(x0, x1, weights, window, 8, channels, acc0, acc1);
    } else if (window.row % 5 == 0) {
        two_positions(x0, x1, weights, window, 5, channels, acc0, acc1);
    } else if (window.row % 3 == 0) {
        two_positions(x0, x1, weights, window, 3, channels, acc0, acc1);
    } else {
        two_positions(x0, x1, weights, window, 1, channels, acc0, acc1);
    }
}

void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    pad_input_s8(in, shape, scratch);
    const int8_t *padded = scratch;
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    const uint32_t padded_row = (shape->in_w + 2u * shape->padding) * in_c;
    const uint32_t row = shape->kernel_w * in_c;
    const window_t window = {.rows = shape->kernel_h, .row = row, .gap = padded_row - row};
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x += 2) {
            const uint32_t next = x + 1u < shape->out_w ? x + 1u : x; /* an odd last position is computed twice */
            any_row(padded + x * in_c, padded + next * in_c, weights, window, out_c, acc + x * out_c, acc + next * out_c);
        }
        padded += padded_row;
        acc += shape->out_w * out_c;
    }
}

#endif
