#include "kernels/tflite_pointwise_s8.h"

#include "kernels/tflite_block_s8.h"

uint64_t tflite_pointwise_s8_scratch(const layer_shape_t *shape) {
    return tflite_block_s8_scratch(shape->in_c);
}

void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                         int8_t *scratch, int8_t *out) {
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    const uint32_t block = tflite_block_positions(in_c);
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0;) {
        const uint32_t n = left < block ? left : block;
        tflite_block_s8(in, in_c, n, weights, in_c, out_c, layer, scratch, out);
        in += n * in_c;
        out += n * out_c;
        left -= n;
    }
}
