#include "kernels/convolution.h"

#include "kernels/conv_bands_s8.h"

void tflite_conv2d_rows_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                           const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out) {
    const conv_weights_t plain = {.at = weights};
    conv_bands_s8(in, &plain, shape, layer, first, count, scratch, out);
}

void tflite_conv2d_s8(const int8_t *in, const int8_t *weights, const layer_shape_t *shape, const tflite_layer_t *layer,
                      int8_t *scratch, int8_t *out) {
    tflite_conv2d_rows_s8(in, weights, shape, layer, 0, shape->out_h, scratch, out);
}
