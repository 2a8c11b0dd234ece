#include "kernels/convolution.h"

#include "kernels/conv_bands_s8.h"

void tflite_pointwise_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                         const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    const conv_weights_t plain = {.at = weights};
    conv_blocks_s8(in, &plain, shape, layer, scratch, out);
}
