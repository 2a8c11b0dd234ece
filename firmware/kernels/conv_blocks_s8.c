#include "kernels/conv_bands_s8.h"

#include "kernels/convolution.h"

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
