/* The sums of two channels over a band of a convolution. */
#include "kernels/conv_band_s8.h"

#include <stdbool.h>
#include <stddef.h>

#include "kernels/dsp.h"
#include "kernels/products_dsp.h"
#include "kernels/terms_s8.h"

#if KERNELS_DSP

enum { WIDE = sizeof(int16_t), SUM = sizeof(int32_t) };

/* The words of a run of weights: kernel_w * in_c in pairs. */
static inline uint32_t words_of(const layer_shape_t *shape) {
    return ((uint32_t)shape->kernel_w * shape->in_c + 1u) / 2;
}

uint64_t conv_band_work(const layer_shape_t *shape) {
    return 2ull * words_of(shape) * shape->kernel_h * sizeof(uint32_t);
}

void conv_band_start(const conv_band_t *band) {
    (void)band;
}

/* Two taps of a run less the zero point, from `tap` on; 0 after its end. */
static inline uint32_t two_taps(const int8_t *run, uint32_t tap, uint32_t row, int32_t zero) {
    return low_lanes((uint32_t)(run[tap] - zero), tap + 1 < row ? (uint32_t)(run[tap + 1] - zero) : 0);
}

/* The weights of two channels in the order of products_2x2. */
static void widen_weights(const conv_band_t *band, const int8_t *w0, const int8_t *w1) {
    const uint32_t row = (uint32_t)band->shape->kernel_w * band->shape->in_c;
    const int32_t zero = band->weight_zero;
    const uint32_t negative_zero = low_lanes((uint32_t)-zero, (uint32_t)-zero);
    uint32_t *out = band->work;
    for (uint32_t i = 0; i < band->shape->kernel_h; i++, w0 += row, w1 += row) {
        uint32_t tap = 0;
        if (words_of(band->shape) % 2 != 0) {
            *out++ = two_taps(w0, 0, row, zero);
            *out++ = two_taps(w1, 0, row, zero);
            tap = 2;
        }
        for (; tap + 4 <= row; tap += 4, out += 4) {
            const widened_t first = widen_four_from(negative_zero, load_word(w0 + tap)),
                            second = widen_four_from(negative_zero, load_word(w1 + tap));
            out[0] = first.first;
            out[1] = first.second;
            out[2] = second.first;
            out[3] = second.second;
        }
        if (tap < row) { /* three of four */
            *out++ = two_taps(w0, tap, row, zero);
            *out++ = two_taps(w0, tap + 2, row, zero);
            *out++ = two_taps(w1, tap, row, zero);
            *out++ = two_taps(w1, tap + 2, row, zero);
        }
    }
}

/* Where a row of positions lies: its inputs, which are `to_next` further on for every position, and its sums. */
typedef struct {
    const int16_t *in;
    uint32_t to_next;
    int32_t *acc;
    uint32_t to_position;
} positions_t;

/* The sums of `pairs` pairs of positions, from `x` on, for the weights that have been widened. */
static inline void sum_pairs(products_2x2_t *products, const positions_t *row, uint32_t x, uint32_t pairs, bool lonely,
                             bool aligned) {
    products->in[0] = row->in + x * row->to_next;
    products->in[1] = products->in[0] + (lonely ? 0 : row->to_next); /* a lonely position is computed twice */
    products->acc = row->acc + x * row->to_position;
    products->acc_end = products->acc + pairs * 2 * row->to_position;
    if (aligned) {
        products_2x2_aligned(products);
    } else {
        products_2x2(products);
    }
}

/* Two channels of all positions of the band. An odd last position is computed once more together with
   the one before. */
static void sum_any(const conv_band_t *band, const band_sums_t *sums) {
    const layer_shape_t *shape = band->shape;
    const uint32_t kernel_h = shape->kernel_h, out_w = shape->out_w, to_position = sums->to_position;
    const uint32_t words = words_of(shape), to_next = band->stride_w * shape->in_c;
    uint32_t *const weights = band->work;
    products_2x2_t products = {
        .gap = ((int32_t)band->pitch - 2 * (int32_t)words) * WIDE,
        .weights_end = weights + 2 * words * kernel_h,
        .turns = (words / 2 + 3) / 4,
        .to_channel = sums->to_channel * SUM,
        .to_position = (out_w > 1 ? to_position : 0) * SUM,
        .rewind = ((int32_t)(2 * to_next) - (int32_t)(kernel_h * band->pitch)) * WIDE,
        .acc_step = 2 * to_position * SUM,
        .weights = weights,
        .groups = words / 2,
        .half = words % 2,
    };
    const uint32_t from_row = conv_band_step(shape, band->stride_h) * band->pitch;
    const bool aligned = shape->in_c % 2 == 0;
    positions_t row = {.in = band->rows, .to_next = to_next, .acc = sums->to, .to_position = to_position};
    for (uint32_t rows = band->count; rows > 0; rows--, row.in += from_row, row.acc += out_w * to_position) {
        if (out_w > 1) {
            sum_pairs(&products, &row, 0, out_w / 2, false, aligned);
        }
        if (out_w % 2 != 0) {
            sum_pairs(&products, &row, out_w > 1 ? out_w - 2 : 0, 1, out_w == 1, aligned);
        }
    }
}

static bool takes_5x5(const conv_band_t *band) {
    const layer_shape_t *shape = band->shape;
    return shape->kernel_h == 5 && shape->kernel_w == 5 && shape->in_c == 1 && band->stride_h == 1 &&
           band->stride_w == 1 && band->pitch % 2 == 0;
}

/* One channel of a row of positions. Of the last four, which may be fewer, those that are there are kept. */
static void sum_row_5x5(products_5x5_t *products, const int16_t *in, uint32_t out_w, uint32_t to_position,
                        int32_t *acc) {
    const uint32_t whole = out_w / 4 * 4;
    products->in = in;
    products->acc = acc;
    products->acc_end = acc + whole * to_position;
    products->step = to_position * SUM;
    products->three_steps = 3 * products->step;
    if (whole > 0) {
        products_5x5(products);
    }
    if (whole < out_w) {
        int32_t sum[4];
        products->in = in + whole;
        products->acc = sum;
        products->acc_end = sum + 4;
        products->step = SUM;
        products->three_steps = 3 * SUM;
        products_5x5(products);
        for (uint32_t x = whole; x < out_w; x++) {
            acc[x * to_position] = sum[x - whole];
        }
    }
}

static void sum_5x5(const conv_band_t *band, const int8_t *weights, uint32_t to_position, int32_t *acc) {
    const uint32_t out_w = band->shape->out_w, pitch = band->pitch;
    uint32_t *const words = band->work;
    products_5x5_t products = {.weights = words, .pitch = pitch * WIDE};
    products_5x5_weights(weights, band->weight_zero, words);
    const int16_t *in = band->rows;
    for (uint32_t rows = band->count; rows > 0; rows--, in += pitch, acc += out_w * to_position) {
        sum_row_5x5(&products, in, out_w, to_position, acc);
    }
}

void conv_band_sums(const conv_band_t *band, const int8_t *w0, const int8_t *w1, const band_sums_t *sums) {
    if (takes_5x5(band)) {
        sum_5x5(band, w0, sums->to_position, sums->to);
        if (w1 != w0) {
            sum_5x5(band, w1, sums->to_position, sums->to + sums->to_channel);
        }
    } else {
        widen_weights(band, w0, w1);
        sum_any(band, sums);
    }
}

#elif KERNELS_THUMB1

enum { EVEN = 2 }; /* terms that make a list even and not empty */

uint64_t conv_band_work(const layer_shape_t *shape) {
    return sizeof(term_t) * ((uint64_t)shape->kernel_h * shape->kernel_w * shape->in_c + EVEN);
}

/* The sum of the inputs under a window: `rows` runs of `n`, at least one, `pitch` bytes apart. */
static inline int32_t window_sum(const int8_t *in, uint32_t rows, uint32_t n, uint32_t pitch) {
    int32_t sum = 0;
    for (; rows > 0; rows--, in += pitch) {
        const int8_t *x = in, *const fours = in + n / 4 * 4, *const end = in + n;
        for (; x != fours; x += 4) {
            sum += x[0] + x[1] + x[2] + x[3];
        }
        while (x != end) {
            sum += *x++;
        }
    }
    return sum;
}

/* What the sum gains from one window to the next: `step` columns of `rows` inputs, less those it leaves, `n` before. */
static inline int32_t next_less_first(const int8_t *in, uint32_t rows, uint32_t n, uint32_t pitch, uint32_t step) {
    const uint32_t end = rows * pitch;
    int32_t sum = 0;
    for (const int8_t *const last = in + step; in != last; in++) {
        const int8_t *const next = in + n;
        for (uint32_t i = 0; i != end; i += pitch) {
            sum += next[i] - in[i];
        }
    }
    return sum;
}

/* Products with weights of -127..128 fit in the halves of a word, two at a time; those with weights less their zero
   point do not. So one is added to the weights, and what then is too much, the same for all channels, the sums begin
   with. */
void conv_band_start(const conv_band_t *band) {
    if (band->starts == NULL) {
        return;
    }
    const layer_shape_t *shape = band->shape;
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, step = band->stride_w * shape->in_c,
                   kernel_h = shape->kernel_h, pitch = band->pitch;
    const bool overlap = 2 * step < row;
    const int32_t factor = -1 - band->weight_zero;
    const int8_t *in = band->rows;
    int32_t *start = band->starts;
    for (uint32_t y = 0; y < band->count; y++) {
        int32_t sum = window_sum(in, kernel_h, row, pitch);
        *start++ = factor * sum;
        const int8_t *window = in;
        for (int32_t *const end = start + shape->out_w - 1; start != end; window += step) {
            sum = overlap ? sum + next_less_first(window, kernel_h, row, pitch, step)
                          : window_sum(window + step, kernel_h, row, pitch);
            *start++ = factor * sum;
        }
        in += conv_band_step(shape, band->stride_h) * pitch;
    }
}

/* The weights of both channels are the list, made once a band, and the windows of the positions are its rows: that
   serves far more rows than there are channels. */
void conv_band_sums(const conv_band_t *band, const int8_t *w0, const int8_t *w1, const band_sums_t *sums) {
    const layer_shape_t *shape = band->shape;
    const uint32_t row = (uint32_t)shape->kernel_w * shape->in_c, out_w = shape->out_w,
                   step = band->stride_w * shape->in_c;
    const patch_t weights = {.bytes = w0, .n = row, .rows = shape->kernel_h, .step = row, .at_step = band->pitch};
    term_t *const terms = band->work;
    uint32_t low = 0;
    term_t *const end = band->starts == NULL ? terms_of_pair(terms, &weights, (uint32_t)(w1 - w0))
                                             : terms_of_pair_and_one(terms, &weights, (uint32_t)(w1 - w0), &low);
    const uint32_t n = terms_close(terms, end);
    const int8_t *in = band->rows;
    const int32_t *starts = band->starts;
    for (uint32_t y = 0; y < band->count; y++) {
        int32_t *const to = sums->to + y * out_w;
        if (starts == NULL) {
            terms_pair_sums(terms, n, in, step, out_w, to, sums->to_channel);
        } else {
            (low != 0 ? terms_pair_sums_raised : terms_pair_sums_from)(terms, n, in, step, out_w, to, sums->to_channel,
                                                                       starts + y * out_w);
        }
        in += conv_band_step(shape, band->stride_h) * band->pitch;
    }
}

#else

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
