#include "kernels/tflite_pointwise_s8.h"

#include "kernels/tflite_block_s8.h"

void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                         int8_t *out) {
    const uint32_t in_c = shape->in_c, out_c = shape->out_c;
    for (uint32_t left = (uint32_t)shape->in_h * shape->in_w; left > 0;) {
        const uint32_t n = left < TFLITE_BLOCK ? left : TFLITE_BLOCK;
        tflite_block_s8(in, in_c, n, weights, in_c, out_c, layer, out);
        in += n * in_c;
        out += n * out_c;
        left -= n;
    }
}
