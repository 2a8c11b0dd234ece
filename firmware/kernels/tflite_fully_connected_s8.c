#include "kernels/fully_connected.h"

void tflite_fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                               const tflite_layer_t *layer, int32_t *acc, int8_t *out) {
    fully_connected_s8(in, weights, inputs, outputs, acc);
    layer->requantize(acc, 1, 0, outputs, layer, outputs, out);
}
