/* A convolution a band at a time: some rows of the output, the rows of the input that they see, and the sums of two
   channels. Sums are exact in int32 for weights of -127..127 and any int8 inputs; in the format affine8 they are modulo
   2^32. conv_bands_s8.c: conv2d and pointwise of the formats tflite8 and affine8, forward. Private to the kernels of
   conv2d of all formats. */
#pragma once

#include <stdbool.h>

#include "kernels/dsp.h"
#include "kernels/requantize.h"
#include "kernels/shapes.h"

#if KERNELS_DSP
typedef int16_t band_value_t; /* as the products take them: inputs are widened once, not in the innermost loop */
#else
typedef int8_t band_value_t;
#endif

/* Rows of the padded input lie `pitch` values apart in `rows`, which is aligned to a word; those that no window covers
   are left out. Up to 8 bytes after the last one may be read, and count for nothing. */
typedef struct {
    const layer_shape_t *shape;
    const int8_t *in;
    uint32_t stride_h, stride_w;
    int8_t zero;        /* what the padding holds */
    int8_t weight_zero; /* affine8: what the products take from the weights; else 0 */
    uint32_t pitch;     /* conv_band_width or more */
    uint32_t y, count;  /* the band, in rows of the output */
    void *work;         /* conv_band_work bytes, aligned to a word */
    band_value_t *rows;
    int32_t *starts; /* affine8 on Armv6-M: conv_band_start(); else NULL */
} conv_band_t;

/* The sum of channel c, 0 or 1, for position p, counted through the rows of the band, is
   to[c * to_channel + p * to_position]. */
typedef struct {
    int32_t *to;
    uint32_t to_channel, to_position;
} band_sums_t;

/* Values under all windows of a row of positions. */
static inline uint32_t conv_band_width(const layer_shape_t *shape, uint32_t stride_w) {
    return ((shape->out_w - 1u) * stride_w + shape->kernel_w) * shape->in_c;
}

/* Rows held from the window of one position to that of the position below. */
static inline uint32_t conv_band_step(const layer_shape_t *shape, uint32_t stride_h) {
    return stride_h < shape->kernel_h ? stride_h : shape->kernel_h;
}

/* Rows held for `count` rows of the output. */
static inline uint32_t conv_band_rows(const layer_shape_t *shape, uint32_t stride_h, uint32_t count) {
    return (count - 1) * conv_band_step(shape, stride_h) + shape->kernel_h;
}

/* Bytes of what a core makes of the weights of two channels, a multiple of 4. */
uint64_t conv_band_work(const layer_shape_t *shape);

/* Fill `rows` for the band. */
void conv_band_fill(const conv_band_t *band);

/* Fill `starts`, one word for each position, where there are any. */
void conv_band_start(const conv_band_t *band);

/* The sums of two channels, whose weights may be the same, for all positions of the band. On Armv6-M `to_position` is
   1. */
void conv_band_sums(const conv_band_t *band, const int8_t *w0, const int8_t *w1, const band_sums_t *sums);

/* Weights as they are stored, [o][ky][kx][c]. */
typedef struct {
    const int8_t *at;
    bool affine; /* they are all of int8, and the products take them less `zero`; else they are -127..127 */
    int8_t zero;
} conv_weights_t;

/* Rows first..first + count - 1 of the output of conv2d, which are written from `out` on. */
void conv_bands_s8(const int8_t *in, const conv_weights_t *weights, const layer_shape_t *shape,
                   const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out);

/* pointwise. */
void conv_blocks_s8(const int8_t *in, const conv_weights_t *weights, const layer_shape_t *shape,
                    const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

#if KERNELS_DSP

/* int8 values as lanes of 16 bits, two in a word and in their order, as the products take them. */

/* Four values in two words. */
typedef struct {
    uint32_t first, second;
} widened_t;

static inline widened_t widened(uint32_t even, uint32_t odd) {
    return (widened_t){.first = low_lanes(even, odd), .second = high_lanes(even, odd)};
}

static inline widened_t widen_four(uint32_t word) {
    return widened(even_lanes(word), odd_lanes(word));
}

/* The same, added to a pair of lanes. */
static inline widened_t widen_four_from(uint32_t lanes, uint32_t word) {
    return widened(add_even_lanes(lanes, word), add_odd_lanes(lanes, word));
}

static inline void widen_s8(const int8_t *in, uint32_t n, int16_t *out) {
    for (; n >= 4; n -= 4, in += 4, out += 4) {
        const widened_t four = widen_four(load_word(in));
        memcpy(out, &four.first, sizeof four.first);
        memcpy(out + 2, &four.second, sizeof four.second);
    }
    for (; n > 0; n--) {
        *out++ = *in++;
    }
}

#endif
