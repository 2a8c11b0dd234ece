#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stdbool.h>

#include "kernels/conv2d_s8.h"
#include "kernels/products_2x2_dsp.h"
#include "kernels/products_5x5_dsp.h"
#include "kernels/widen_s8_dsp.h"

enum { WIDE = sizeof(int16_t), SLACK = 64 };

/* A convolution on its way through the bands of its output: as many rows of the padded input as fit the scratch are held in int16,
   so that neither inputs nor weights are widened in the innermost loop. */
typedef struct {
    const layer_shape_t *shape;
    const int8_t *in, *weights;
    int16_t *rows;     /* the padded rows of the band, `pitch` inputs apart */
    uint32_t *wide;    /* the weights of one or two channels, before `rows` */
    uint32_t pitch;
    uint32_t words;    /* of a run of weights: kernel_w * in_c in pairs */
    uint32_t y, count; /* the band, in rows of the output */
    int32_t *acc;      /* its sums */
} conv_t;

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static void widen_row(const conv_t *conv, uint32_t padded_y, int16_t *out) {
    const layer_shape_t *shape = conv->shape;
    const uint32_t inputs = (uint32_t)shape->in_w * shape->in_c, side = (uint32_t)shape->padding * shape->in_c;
    const uint32_t y = padded_y - shape->padding; /* beyond the input, above it too, where the row is padding */
    if (y >= shape->in_h) {
        memset(out, 0, conv->pitch * sizeof *out);
        return;
    }
    memset(out, 0, side * sizeof *out);
    widen_s8(conv->in + y * inputs, inputs, out + side);
    memset(out + side + inputs, 0, side * sizeof *out);
}

static void widen_band(const conv_t *conv) {
    const uint32_t rows = conv->count + conv->shape->kernel_h - 1u;
    for (uint32_t i = 0; i < rows; i++) {
        widen_row(conv, conv->y + i, conv->rows + i * conv->pitch);
    }
}

/* Two taps of a run, from `tap` on; 0 behind its end. */
static inline uint32_t two_taps(const int8_t *run, uint32_t tap, uint32_t row) {
    return low_lanes((uint32_t)run[tap], tap + 1 < row ? (uint32_t)run[tap + 1] : 0);
}

/* The weights of two channels in the order of products_2x2. */
static void widen_weights(const conv_t *conv, const int8_t *w0, const int8_t *w1) {
    const uint32_t row = (uint32_t)conv->shape->kernel_w * conv->shape->in_c;
    uint32_t *out = conv->wide;
    for (uint32_t i = 0; i < conv->shape->kernel_h; i++, w0 += row, w1 += row) {
        uint32_t tap = 0;
        if (conv->words % 2 != 0) {
            *out++ = two_taps(w0, 0, row);
            *out++ = two_taps(w1, 0, row);
            tap = 2;
        }
        for (; tap + 4 <= row; tap += 4, out += 4) {
            const widened_t first = widen_four(load_word(w0 + tap)), second = widen_four(load_word(w1 + tap));
            out[0] = first.first;
            out[1] = first.second;
            out[2] = second.first;
            out[3] = second.second;
        }
        if (tap < row) { /* three of four */
            *out++ = two_taps(w0, tap, row);
            *out++ = two_taps(w0, tap + 2, row);
            *out++ = two_taps(w1, tap, row);
            *out++ = two_taps(w1, tap + 2, row);
        }
    }
}

/* The sums of `pairs` pairs of positions, from x on in row y of the band, for the weights that have been widened. */
static void sum_pairs(const conv_t *conv, products_2x2_t *products, uint32_t y, uint32_t x, uint32_t pairs) {
    const layer_shape_t *shape = conv->shape;
    const uint32_t next = shape->out_w > 1 ? shape->in_c : 0; /* a lonely position is computed twice */
    products->in[0] = conv->rows + y * conv->pitch + x * shape->in_c;
    products->in[1] = products->in[0] + next;
    products->acc_end = products->acc + pairs * products->acc_step / sizeof *products->acc;
    if (shape->in_c % 2 == 0) {
        products_2x2_aligned(products);
    } else {
        products_2x2(products);
    }
}

/* Two channels of all positions of the band. An odd last position is computed once more together with the one before. */
static void sum_channels(const conv_t *conv, uint32_t first, uint32_t second) {
    const layer_shape_t *shape = conv->shape;
    const uint32_t kernel_h = shape->kernel_h, out_c = shape->out_c, out_w = shape->out_w;
    products_2x2_t products = {
        .gap = ((int32_t)conv->pitch - 2 * (int32_t)conv->words) * WIDE,
        .weights_end = conv->wide + 2 * conv->words * kernel_h,
        .turns = (conv->words / 2 + 3) / 4,
        .to_channel = (second - first) * (uint32_t)sizeof(int32_t),
        .to_position = (out_w > 1 ? out_c : 0) * (uint32_t)sizeof(int32_t),
        .rewind = ((int32_t)(2u * shape->in_c) - (int32_t)(kernel_h * conv->pitch)) * WIDE,
        .acc_step = 2 * out_c * (uint32_t)sizeof(int32_t),
        .weights = conv->wide,
        .groups = conv->words / 2,
        .half = conv->words % 2,
    };
    for (uint32_t y = 0; y < conv->count; y++) {
        int32_t *acc = conv->acc + y * out_w * out_c + first;
        if (out_w > 1) {
            products.acc = acc;
            sum_pairs(conv, &products, y, 0, out_w / 2);
        }
        if (out_w % 2 != 0) {
            const uint32_t x = out_w > 1 ? out_w - 2 : 0;
            products.acc = acc + x * out_c;
            sum_pairs(conv, &products, y, x, 1);
        }
    }
}

static void sum_band(const conv_t *conv) {
    const uint32_t out_c = conv->shape->out_c;
    const uint32_t taps = (uint32_t)conv->shape->kernel_h * conv->shape->kernel_w * conv->shape->in_c;
    for (uint32_t o = 0; o < out_c; o += 2) {
        const uint32_t second = least(o + 1, out_c - 1); /* an odd last channel is computed twice */
        widen_weights(conv, conv->weights + o * taps, conv->weights + second * taps);
        sum_channels(conv, o, second);
    }
}

static bool takes_5x5(const conv_t *conv) {
    const layer_shape_t *shape = conv->shape;
    return shape->kernel_h == 5 && shape->kernel_w == 5 && shape->in_c == 1 && conv->pitch % 2 == 0;
}

/* One channel of a row of positions. Of the last four, which may be fewer, those that are there are kept. */
static void sum_row_5x5(products_5x5_t *products, const int16_t *in, uint32_t out_w, uint32_t out_c, int32_t *acc) {
    const uint32_t whole = out_w / 4 * 4;
    products->in = in;
    products->acc = acc;
    products->acc_end = acc + whole * out_c;
    products->step = out_c * (uint32_t)sizeof *acc;
    products->three_steps = 3 * products->step;
    if (whole > 0) {
        products_5x5(products);
    }
    if (whole < out_w) {
        int32_t sum[4];
        products->in = in + whole;
        products->acc = sum;
        products->acc_end = sum + 4;
        products->step = sizeof sum[0];
        products->three_steps = 3 * sizeof sum[0];
        products_5x5(products);
        for (uint32_t x = whole; x < out_w; x++) {
            acc[x * out_c] = sum[x - whole];
        }
    }
}

static void sum_band_5x5(const conv_t *conv) {
    const uint32_t out_w = conv->shape->out_w, out_c = conv->shape->out_c;
    products_5x5_t products = {.weights = conv->wide, .pitch = conv->pitch * WIDE};
    for (uint32_t o = 0; o < out_c; o++) {
        products_5x5_weights(conv->weights + o * 25, conv->wide);
        for (uint32_t y = 0; y < conv->count; y++) {
            sum_row_5x5(&products, conv->rows + y * conv->pitch, out_w, out_c, conv->acc + y * out_w * out_c + o);
        }
    }
}

void conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, int8_t *scratch, int32_t *acc) {
    conv_t conv = {.shape = shape, .in = in, .weights = weights, .acc = acc};
    conv.wide = (uint32_t *)(void *)scratch;
    conv.words = ((uint32_t)shape->kernel_w * shape->in_c + 1u) / 2;
    conv.pitch = (shape->in_w + 2u * shape->padding) * shape->in_c;
    const uint32_t wide_bytes = 2 * conv.words * shape->kernel_h * (uint32_t)sizeof *conv.wide;
    conv.rows = (int16_t *)(void *)(scratch + wide_bytes);
    const uint32_t rows = ((uint32_t)conv2d_s8_scratch(shape) - SLACK - wide_bytes) / (conv.pitch * WIDE);
    const uint32_t most = rows - shape->kernel_h + 1; /* there is room for the kernel's rows at least */
    for (; conv.y < shape->out_h; conv.y += conv.count) {
        conv.count = least(most, shape->out_h - conv.y);
        widen_band(&conv);
        if (takes_5x5(&conv)) {
            sum_band_5x5(&conv);
        } else {
            sum_band(&conv);
        }
        conv.acc += conv.count * shape->out_w * shape->out_c;
    }
}

#endif
