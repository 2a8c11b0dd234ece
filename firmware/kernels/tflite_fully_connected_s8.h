/* fully_connected in the format tflite8: docs/arithmetic-tflite.md, sections 3 and 5. Weights are `outputs` rows of
   `inputs`. The error of its input is fully_connected_s8_input_error(). */
#pragma once

#include <stdint.h>

#include "kernels/tflite_layer.h"

/* Forward pass; `acc` has room for the sums of all outputs. */
void tflite_fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                               const tflite_layer_t *layer, int32_t *acc, int8_t *out);

/* Weight gradient: gradient[o][j] += error[o] * (in[j] - input_zero). It cannot overflow: it starts from 0 and is
   called at most 2^16 times. */
void tflite_fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                               int8_t input_zero, int32_t *gradient);
