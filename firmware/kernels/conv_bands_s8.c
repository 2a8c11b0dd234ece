/* conv2d and pointwise of the formats tflite8 and affine8, forward, band by band: docs/arithmetic-tflite.md, section
   3. */
#include "kernels/conv_band_s8.h"

#include "kernels/convolution.h"
#include "kernels/core.h"

/* Rows of the output in a band. */
static uint32_t rows_of(const layer_shape_t *shape) {
    const uint32_t wanted = TFLITE_BAND_PRODUCTS / shape_taps(shape);
    const uint32_t positions = wanted > TFLITE_BAND_POSITIONS ? wanted : TFLITE_BAND_POSITIONS;
    const uint32_t rows = (positions + shape->out_w - 1) / shape->out_w;
    return rows < shape->out_h ? rows : shape->out_h;
}

/* Even, so that every row begins with a word. */
static uint32_t pitch_of(const layer_shape_t *shape) {
    return (conv_band_width(shape, shape->stride_w) + 1u) & ~1u;
}

/* How the scratch is used: the work on the weights, the sums of one or two channels, what the sums begin with, the
   inputs, and what the products may read beyond them. */
typedef struct {
    uint32_t rows, channels; /* of a band; at a time */
    uint32_t sums, starts;   /* words */
} cut_t;

#if KERNELS_THUMB1

enum { WIDE = 2, WORD = 4, MORE = 8 }; /* bytes of a value in the plan, of a sum; what the plan has for the work */

static uint32_t room_of(const layer_shape_t *shape, uint32_t rows, uint32_t words, uint32_t value) {
    return WORD * words * rows * shape->out_w + value * conv_band_rows(shape, shape->stride_h, rows) * pitch_of(shape);
}

/* The plan has 16 bits for an input. This core needs 8, and of the others it takes the words that the sums begin with;
   fewer rows leave more room. Where one row does not leave it, the sums of a second channel make way. */
static cut_t cut_of(const layer_shape_t *shape, bool affine) {
    const uint32_t most = rows_of(shape), room = room_of(shape, most, 2, WIDE) + MORE;
    uint32_t rows = most;
    while (affine && rows > 0 && room_of(shape, rows, 3, 1) > room) {
        rows--;
    }
    const uint32_t channels = rows > 0 ? 2 : 1;
    rows = rows > 0 ? rows : most;
    const uint32_t positions = rows * shape->out_w;
    return (cut_t){.rows = rows, .channels = channels, .sums = positions * channels, .starts = affine ? positions : 0};
}

#else

static cut_t cut_of(const layer_shape_t *shape, bool affine) {
    (void)affine;
    return (cut_t){.rows = rows_of(shape), .channels = 2, .sums = 2 * rows_of(shape) * shape->out_w};
}

#endif

/* Two channels at a time. An odd last one is computed twice and requantized once. */
static void band_outputs(const conv_band_t *band, const int8_t *weights, uint32_t channels, const tflite_layer_t *layer,
                         int32_t *sums, int8_t *out) {
    const uint32_t taps = shape_taps(band->shape), out_c = band->shape->out_c,
                   positions = band->count * band->shape->out_w;
    for (uint32_t o = 0; o < out_c; o += channels) {
        const uint32_t to_second = o + 1 < out_c ? channels - 1 : 0;
        const band_sums_t to = {.to = sums, .to_channel = to_second * positions, .to_position = 1};
        conv_band_sums(band, weights + o * taps, weights + (o + to_second) * taps, &to);
        layer->requantize(sums, positions, o, 1 + to_second, layer, out_c, out + o);
    }
}

SEPARATE void conv_bands_s8(const int8_t *in, const conv_weights_t *weights, const layer_shape_t *shape,
                            const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out) {
    const uint32_t end = first + count;
    const cut_t cut = cut_of(shape, weights->affine);
    conv_band_t band = {.shape = shape,
                        .in = in,
                        .stride_h = shape->stride_h,
                        .stride_w = shape->stride_w,
                        .zero = layer->input_zero,
                        .weight_zero = weights->zero,
                        .pitch = pitch_of(shape),
                        .y = first,
                        .work = scratch};
    int32_t *const sums = (int32_t *)(void *)(scratch + conv_band_work(shape)), *const starts = sums + cut.sums;
    band.starts = cut.starts > 0 ? starts : NULL;
    band.rows = (band_value_t *)(void *)(starts + cut.starts);
    for (; band.y < end; band.y += band.count) {
        const uint32_t left = end - band.y;
        band.count = cut.rows < left ? cut.rows : left;
        conv_band_fill(&band);
        conv_band_start(&band);
        band_outputs(&band, weights->at, cut.channels, layer, sums, out);
        out += band.count * shape->out_w * shape->out_c;
    }
}

/* Positions of a block, whose inputs are copied to the scratch. */
static uint16_t block_of(const layer_shape_t *shape) {
    const uint32_t fit = TFLITE_BLOCK_INPUTS / shape->in_c & ~1u; /* even, as positions are computed in pairs */
    return (uint16_t)(fit < TFLITE_BLOCK_LEAST  ? TFLITE_BLOCK_LEAST
                      : fit > TFLITE_BLOCK_MOST ? TFLITE_BLOCK_MOST
                                                : fit);
}

/* A block as an image of one row. */
static layer_shape_t row_of(const layer_shape_t *shape, uint16_t positions) {
    return (layer_shape_t){.in_h = 1,
                           .in_w = positions,
                           .in_c = shape->in_c,
                           .out_h = 1,
                           .out_w = positions,
                           .out_c = shape->out_c,
                           .kernel_h = 1,
                           .kernel_w = 1,
                           .stride_h = 1,
                           .stride_w = 1};
}

void conv_blocks_s8(const int8_t *in, const conv_weights_t *weights, const layer_shape_t *shape,
                    const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    const uint32_t block = block_of(shape);
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0;) {
        const uint32_t n = left < block ? left : block;
        const layer_shape_t row = row_of(shape, (uint16_t)n);
        conv_bands_s8(in, weights, &row, layer, 0, 1, scratch, out);
        in += n * shape->in_c;
        out += n * shape->out_c;
        left -= n;
    }
}
