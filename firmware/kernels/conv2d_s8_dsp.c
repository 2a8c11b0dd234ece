#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/conv2d_s8.h"
#include "kernels/pad_input_s8.h"

uint64_t conv2d_s8_scratch(const layer_shape_t *shape) {
    return pad_input_s8_scratch(shape);
}

/* The kernel window: `rows` runs of `row` contiguous taps, with a `gap` between them in the padded input. */
typedef struct {
    uint32_t rows, row, gap;
} window_t;

/* Two positions and two output channels on their way through a window. The second of each lies at a fixed distance from the
   first, so that two pointers, two distances, four sums and the lanes of the taps nearly fit the registers. */
typedef struct {
    const int8_t *x, *w;
    uint32_t to_x1, to_w1;
    int32_t s00, s01, s10, s11;
} block_t;

/* Four taps: sixteen products for four loads. */
static inline void four_taps(block_t *b) {
    uint32_t word = load_word(b->x + b->to_x1);
    const uint32_t even1 = even_lanes(word), odd1 = odd_lanes(word);
    word = load_word(b->x);
    const uint32_t even0 = even_lanes(word), odd0 = odd_lanes(word);
    word = load_word(b->w + b->to_w1);
    uint32_t even = even_lanes(word), odd = odd_lanes(word);
    b->s01 = add_products(add_products(b->s01, even0, even), odd0, odd);
    b->s11 = add_products(add_products(b->s11, even1, even), odd1, odd);
    word = load_word(b->w);
    even = even_lanes(word);
    odd = odd_lanes(word);
    b->s00 = add_products(add_products(b->s00, even0, even), odd0, odd);
    b->s10 = add_products(add_products(b->s10, even1, even), odd1, odd);
    b->x += 4;
    b->w += 4;
}

static inline void one_tap(block_t *b) {
    const int32_t x0 = b->x[0], x1 = b->x[b->to_x1], w0 = b->w[0], w1 = b->w[b->to_w1];
    b->s00 += x0 * w0;
    b->s01 += x0 * w1;
    b->s10 += x1 * w0;
    b->s11 += x1 * w1;
    b->x++;
    b->w++;
}

static inline void all_taps(block_t *b, window_t window) {
    do {
        for (uint32_t i = 0; i < window.row / 4; i++) {
            four_taps(b);
        }
        for (uint32_t i = 0; i < window.row % 4; i++) {
            one_tap(b);
        }
        b->x += window.gap;
    } while (--window.rows > 0);
}

/* All channels of two positions. An odd last channel is computed twice. */
static inline void two_positions(const int8_t *x, uint32_t to_x1, const int8_t *weights, window_t window, uint32_t channels,
                                 int32_t *acc0, int32_t *acc1) {
    const uint32_t taps = window.rows * window.row;
    for (uint32_t o = 0; o < channels; o += 2) {
        const uint32_t next = o + 1 < channels ? o + 1 : o;
        block_t b = {.x = x, .w = weights + o * taps, .to_x1 = to_x1, .to_w1 = (next - o) * taps};
        all_taps(&b, window);
        acc0[o] = b.s00;
        acc0[next] = b.s01;
        acc1[o] = b.s10;
        acc1[next] = b.s11;
    }
}

/* The commonest row of a first layer, of five taps, and rows of whole fours are known to the compiler. */
static void any_row(const int8_t *x, uint32_t to_x1, const int8_t *weights, window_t window, uint32_t channels, int32_t *acc0,
                    int32_t *acc1) {
    if (window.row == 5) {
        window.row = 5;
        two_positions(x, to_x1, weights, window, channels, acc0, acc1);
    } else if (window.row % 4 == 0) {
        window.row = window.row / 4 * 4;
        two_positions(x, to_x1, weights, window, channels, acc0, acc1);
    } else {
        two_positions(x, to_x1, weights, window, channels, acc0, acc1);
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
            any_row(padded + x * in_c, (next - x) * in_c, weights, window, out_c, acc + x * out_c, acc + next * out_c);
        }
        padded += padded_row;
        acc += shape->out_w * out_c;
    }
}

#endif
