#include "kernels/tflite_conv2d_s8.h"

#include "kernels/tflite_block_s8.h"
#include "kernels/tflite_patches_s8.h"

uint64_t tflite_conv2d_s8_scratch(const layer_shape_t *shape) {
    return (uint64_t)TFLITE_BLOCK * shape->kernel_h * shape->kernel_w * shape->in_c;
}

void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out) {
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * shape->in_c, out_c = shape->out_c;
    const uint32_t positions = (uint32_t)shape->out_h * shape->out_w;
    for (uint32_t first = 0; first < positions; first += TFLITE_BLOCK) {
        const uint32_t n = positions - first < TFLITE_BLOCK ? positions - first : TFLITE_BLOCK;
        tflite_patches_s8(in, shape, layer->input_zero, first, n, scratch);
        tflite_block_s8(scratch, taps, n, weights, taps, out_c, layer, out);
        out += n * out_c;
    }
}
