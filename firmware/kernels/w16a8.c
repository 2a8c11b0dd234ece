/* The layers with weights of the format w16a8: docs/arithmetic-w16a8.md, section 2. */
#include "kernels/w16a8.h"

#include <stdbool.h>
#include <string.h>

#include "arith/integers.h"
#include "kernels/dsp.h"
#include "kernels/w16a8_sums.h"
#include "kernels/windows.h"

#if KERNELS_DSP

/* The four values of a word; `negative_zero` in both lanes. */
static inline void w16a8_widen_four(const int8_t *in, uint32_t negative_zero, int16_t *out) {
    const uint32_t word = load_word(in);
    const uint32_t even = add_even_lanes(negative_zero, word), odd = add_odd_lanes(negative_zero, word);
    store_word((int8_t *)out, low_lanes(even, odd));
    store_word((int8_t *)(out + 2), high_lanes(even, odd));
}

/* out = in - zero, for `n` values. `out` is at any even address. */
static inline void w16a8_widen(const int8_t *in, uint32_t n, int8_t zero, int16_t *out) {
    const uint32_t negative_zero = low_lanes((uint32_t)-zero, (uint32_t)-zero);
    const int8_t *const end = in + n;
    for (; n >= 8; n -= 8, in += 8, out += 8) {
        w16a8_widen_four(in, negative_zero, out);
        w16a8_widen_four(in + 4, negative_zero, out + 4);
    }
    if (n >= 4) {
        w16a8_widen_four(in, negative_zero, out);
        in += 4;
        out += 4;
    }
    while (in != end) {
        *out++ = (int16_t)(*in++ - zero);
    }
}

#else

static inline void w16a8_widen(const int8_t *in, uint32_t n, int8_t zero, int16_t *out) {
    for (const int8_t *const end = in + n; in != end;) {
        *out++ = (int16_t)(*in++ - zero);
    }
}

#endif

enum { VECTORS = 2 /* positions at a time */ };

uint64_t w16a8_conv2d_scratch(const layer_shape_t *shape) {
    return VECTORS * sizeof(int16_t) * (uint64_t)w16a8_vector(shape_taps(shape));
}

static inline int16_t *repeat_zero(int16_t *out, uint32_t n) {
    if (n > 0) {
        memset(out, 0, n * sizeof *out);
    }
    return out + n;
}

/* The inputs under the window of output (y, x), in the order of the weights; those in the padding are 0. */
static void take_window(const int8_t *in, const layer_shape_t *shape, int8_t zero, uint32_t y, uint32_t x,
                        int16_t *out) {
    const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h),
                 horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
    const uint32_t in_c = shape->in_c, row = shape->kernel_w * in_c, from_row = shape->in_w * in_c;
    const uint32_t before = horizontal.before * in_c, inside = horizontal.inside * in_c;
    const int8_t *from = in + vertical.at * from_row + horizontal.at * in_c;
    out = repeat_zero(out, vertical.before * row);
    for (uint32_t i = 0; i < vertical.inside; i++, from += from_row) {
        out = repeat_zero(out, before);
        w16a8_widen(from, inside, zero, out);
        out = repeat_zero(out + inside, row - before - inside);
    }
    (void)repeat_zero(out, (shape->kernel_h - vertical.before - vertical.inside) * row);
}

static void convolve(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                     int16_t *scratch, int8_t *out) {
    const uint32_t taps = shape_taps(shape), positions = (uint32_t)shape->out_h * shape->out_w;
    uint32_t y = 0, x = 0;
    for (uint32_t p = 0; p < positions; p += VECTORS) {
        const uint32_t count = positions - p < VECTORS ? positions - p : VECTORS;
        for (uint32_t i = 0; i < count; i++) {
            take_window(in, shape, layer->input_zero, y, x, scratch + i * w16a8_vector(taps));
            x = x + 1 < shape->out_w ? x + 1 : 0;
            y += x == 0;
        }
        w16a8_rows(scratch, count, weights, taps, shape->out_c, layer, out);
        out += count * shape->out_c;
    }
}

static void combine(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                    int16_t *scratch, int8_t *out) {
    const uint32_t taps = shape->in_c, positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t p = 0; p < positions; p += VECTORS) {
        const uint32_t count = positions - p < VECTORS ? positions - p : VECTORS;
        for (uint32_t i = 0; i < count; i++, in += taps) {
            w16a8_widen(in, taps, layer->input_zero, scratch + i * w16a8_vector(taps));
        }
        w16a8_rows(scratch, count, weights, taps, shape->out_c, layer, out);
        out += count * shape->out_c;
    }
}

/* pointwise reads every value once, as it lies; so does conv2d of one tap, unless it leaves out the last columns. */
void w16a8_conv2d(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                  int16_t *scratch, int8_t *out) {
    const uint32_t window = (uint32_t)shape->kernel_h * shape->kernel_w * shape->stride_h * shape->stride_w;
    const bool in_order = window == 1 && shape->padding_h == 0 && shape->padding_w == 0 && shape->out_w == shape->in_w;
    (in_order ? combine : convolve)(in, weights, shape, layer, scratch, out);
}

uint64_t w16a8_fully_connected_scratch(uint32_t inputs) {
    return sizeof(int16_t) * (uint64_t)w16a8_vector(inputs);
}

void w16a8_fully_connected(const int8_t *in, const int16_t *weights, uint32_t inputs, uint32_t outputs,
                           const w16a8_layer_t *layer, int16_t *scratch, int8_t *out) {
    w16a8_widen(in, inputs, layer->input_zero, scratch);
    w16a8_rows(scratch, 1, weights, inputs, outputs, layer, out);
}

enum { PANEL = 32 /* channels whose sums lie on the stack */ };

/* A window inside the image: its first input and its first weight, of the first of some channels. */
typedef struct {
    const int8_t *in;
    const int16_t *weights;
    uint32_t rows, columns;
    uint32_t from_row, from_weights; /* elements from row to row, of the inputs and of the weights */
    uint32_t channels;               /* elements from column to column, of both */
    int32_t zero;
} window_t;

/* The sums of four channels, which fit. */
static void sum_four(const window_t *window, int32_t sum[4]) {
    const uint32_t channels = window->channels;
    const int32_t zero = window->zero;
    const int8_t *row = window->in;
    const int16_t *row_weights = window->weights;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t i = 0; i < window->rows; i++, row += window->from_row, row_weights += window->from_weights) {
        const int8_t *in = row;
        const int16_t *weights = row_weights;
        for (uint32_t j = 0; j < window->columns; j++, in += channels, weights += channels) {
            s0 += (in[0] - zero) * weights[0];
            s1 += (in[1] - zero) * weights[1];
            s2 += (in[2] - zero) * weights[2];
            s3 += (in[3] - zero) * weights[3];
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/* The sum of one channel. A row of a window has at most 255 taps. */
static int64_t sum_one(const window_t *window) {
    const int8_t *in = window->in;
    const int16_t *weights = window->weights;
    int64_t all = 0;
    for (uint32_t i = 0; i < window->rows; i++, in += window->from_row, weights += window->from_weights) {
        int32_t sum = 0;
        for (uint32_t j = 0; j < window->columns; j++) {
            sum += (in[j * window->channels] - window->zero) * weights[j * window->channels];
        }
        all += sum;
    }
    return all;
}

/* The sums of `n` channels with their biases, held in 32 bits. */
static void sum_panel(window_t window, uint32_t n, const int32_t *bias, int32_t *acc) {
    uint32_t c = 0;
    for (; window.rows * window.columns <= W16A8_FIT && c + 4 <= n; c += 4, window.in += 4, window.weights += 4) {
        sum_four(&window, acc + c);
        for (uint32_t i = c; i < c + 4; i++) {
            acc[i] = add_sat32(acc[i], bias[i]);
        }
    }
    for (; c < n; c++, window.in++, window.weights++) {
        const int64_t sum = sum_one(&window) + bias[c];
        acc[c] = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
    }
}

void w16a8_depthwise(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                     int8_t *out) {
    const uint32_t channels = shape->in_c, from_row = shape->in_w * channels, from_weights = shape->kernel_w * channels;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        const span_t vertical = span_of(y, shape->stride_h, shape->padding_h, shape->kernel_h, shape->in_h);
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const span_t horizontal = span_of(x, shape->stride_w, shape->padding_w, shape->kernel_w, shape->in_w);
            window_t window = {.in = in + vertical.at * from_row + horizontal.at * channels,
                               .weights = weights + vertical.before * from_weights + horizontal.before * channels,
                               .rows = vertical.inside,
                               .columns = horizontal.inside,
                               .from_row = from_row,
                               .from_weights = from_weights,
                               .channels = channels,
                               .zero = layer->input_zero};
            for (uint32_t c = 0, n; c < channels; c += n, window.in += n, window.weights += n, out += n) {
                int32_t acc[PANEL];
                n = channels - c < PANEL ? channels - c : PANEL;
                sum_panel(window, n, layer->bias + c, acc);
                w16a8_outputs(acc, n, layer, out);
            }
        }
    }
}
