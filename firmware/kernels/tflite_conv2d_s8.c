#include "kernels/convolution.h"

#include "kernels/conv_band_s8.h"

static uint32_t taps_of(const layer_shape_t *shape) {
    return (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
}

/* Rows of the output in a band. */
static uint32_t rows_of(const layer_shape_t *shape) {
    const uint32_t wanted = TFLITE_BAND_PRODUCTS / taps_of(shape);
    const uint32_t positions = wanted > TFLITE_BAND_POSITIONS ? wanted : TFLITE_BAND_POSITIONS;
    const uint32_t rows = (positions + shape->out_w - 1) / shape->out_w;
    return rows < shape->out_h ? rows : shape->out_h;
}

/* Even, so that every row begins with a word. */
static uint32_t pitch_of(const layer_shape_t *shape) {
    return (conv_band_width(shape, shape->stride) + 1u) & ~1u;
}

/* The scratch: the work on the weights, the sums of two channels, the inputs, and what the products may read beyond
   them. */
static uint64_t sums_bytes(const layer_shape_t *shape) {
    return (uint64_t)rows_of(shape) * shape->out_w * 2 * sizeof(int32_t);
}

/* Two channels at a time. An odd last one is computed twice and requantized once. */
static void band_outputs(const conv_band_t *band, const int8_t *weights, const tflite_layer_t *layer, int32_t *sums,
                         int8_t *out) {
    const uint32_t taps = taps_of(band->shape), out_c = band->shape->out_c,
                   positions = band->count * band->shape->out_w;
    for (uint32_t o = 0; o < out_c; o += 2) {
        const uint32_t to_second = o + 1 < out_c ? 1 : 0;
        const band_sums_t to = {.to = sums, .to_channel = to_second * positions, .to_position = 1};
        conv_band_sums(band, weights + o * taps, weights + (o + to_second) * taps, &to);
        layer->requantize(sums, positions, o, 1 + to_second, layer, out_c, out + o);
    }
}

void tflite_conv2d_rows_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                           const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out) {
    const uint32_t rows = rows_of(shape), end = first + count;
    conv_band_t band = {.shape = shape,
                        .in = in,
                        .stride = shape->stride,
                        .zero = layer->input_zero,
                        .pitch = pitch_of(shape),
                        .y = first};
    int32_t *sums = (int32_t *)(void *)(scratch + conv_band_work(shape));
    band.work = scratch;
    band.rows = (band_value_t *)(void *)((int8_t *)sums + sums_bytes(shape));
    for (; band.y < end; band.y += band.count) {
        const uint32_t left = end - band.y;
        band.count = rows < left ? rows : left;
        conv_band_fill(&band);
        band_outputs(&band, weights, layer, sums, out);
        out += band.count * shape->out_w * shape->out_c;
    }
}

void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out) {
    tflite_conv2d_rows_s8(in, weights, shape, layer, 0, shape->out_h, scratch, out);
}
