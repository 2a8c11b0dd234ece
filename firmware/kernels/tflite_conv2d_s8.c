#include "kernels/tflite_conv2d_s8.h"

#include "kernels/tflite_block_s8.h"
#include "kernels/tflite_patches_s8.h"

static uint32_t taps_of(const layer_shape_t *shape) {
    return (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c;
}

uint64_t tflite_conv2d_s8_scratch(const layer_shape_t *shape) {
    return tflite_block_s8_scratch(taps_of(shape)) + (uint64_t)tflite_block_positions(taps_of(shape)) * taps_of(shape);
}

void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out) {
    const uint32_t taps = taps_of(shape), out_c = shape->out_c, positions = (uint32_t)shape->out_h * shape->out_w;
    const uint32_t block = tflite_block_positions(taps);
    int8_t *patches = scratch + tflite_block_s8_scratch(taps); /* behind, as they need no alignment */
    for (uint32_t first = 0; first < positions; first += block) {
        const uint32_t n = positions - first < block ? positions - first : block;
        tflite_patches_s8(in, shape, layer->input_zero, first, n, patches);
        tflite_block_s8(patches, taps, n, weights, taps, out_c, layer, scratch, out);
        out += n * out_c;
    }
}
