/* fully_connected in TFLite's convention: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_FULLY_CONNECTED_S8_H
#define TFLITE_FULLY_CONNECTED_S8_H

#include "kernels/tflite_layer.h"

/* Weights are `outputs` rows of `inputs`; the sums of all outputs go to `acc`. */
void tflite_fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                               const tflite_layer_t *layer, int32_t *acc, int8_t *out);

#endif
