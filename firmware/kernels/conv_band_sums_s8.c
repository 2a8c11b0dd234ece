#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else conv_band_sums_s8_dsp.c, conv_band_sums_s8_m0.c */

#include "kernels/conv_band_s8.h"

/* The kernel window: `rows` runs of `row` contiguous taps, with a `gap` between them in the padded input. */
typedef struct {
    uint32_t rows, row, gap;
} window_t;

/* Two positions by two output channels: four products for four loads, and all of it stays in registers. `chunk` divides
   the row; it is a constant to the compiler, which unrolls that many taps. */
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

/* A row of positions, `step` inputs apart. An odd last position is computed twice. */
static inline void sum_row(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *w0, const int8_t *w1,
                           window_t window, uint32_t chunk, band_sums_t sums) {
    for (uint32_t x = 0; x < positions; x += 2) {
        const uint32_t next = x + 1 < positions ? x + 1 : x;
        int32_t sum[4];
        two_by_two(in + x * step, in + next * step, w0, w1, window, chunk, sum);
        int32_t *const first = sums.to + x * sums.to_position, *const second = sums.to + next * sums.to_position;
        first[0] = sum[0];
        first[sums.to_channel] = sum[1];
        second[0] = sum[2];
        second[sums.to_channel] = sum[3];
    }
}

uint64_t conv_band_work(const layer_shape_t *shape) {
    (void)shape;
    return 0;
}

void conv_band_start(const conv_band_t *band) {
    (void)band;
}

/* The kinds of rows: five taps, as the first layer of many networks has them, or by what divides their length. */
void conv_band_sums(const conv_band_t *band, const int8_t *w0, const int8_t *w1, const band_sums_t *sums) {
    const layer_shape_t *shape = band->shape;
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, step = band->stride_w * shape->in_c,
                   out_w = shape->out_w;
    window_t window = {.rows = shape->kernel_h, .row = row, .gap = band->pitch - row};
    band_sums_t to = *sums;
    const int8_t *in = band->rows;
    for (uint32_t y = 0; y < band->count; y++) {
        if (row == 5) {
            window.row = 5; /* known to the compiler from here on */
            sum_row(in, step, out_w, w0, w1, window, 5, to);
        } else if (row % 8 == 0) {
            sum_row(in, step, out_w, w0, w1, window, 8, to);
        } else if (row % 5 == 0) {
            sum_row(in, step, out_w, w0, w1, window, 5, to);
        } else if (row % 3 == 0) {
            sum_row(in, step, out_w, w0, w1, window, 3, to);
        } else {
            sum_row(in, step, out_w, w0, w1, window, 1, to);
        }
        in += conv_band_step(shape, band->stride_h) * band->pitch;
        to.to += out_w * to.to_position;
    }
}

#endif
