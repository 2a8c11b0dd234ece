/* fully_connected, forward and backward, in the formats bfp8 (docs/arithmetic.md, sections 4 and 7) and tflite8
   (docs/arithmetic-tflite.md, sections 3 and 5). Weights are `outputs` rows of `inputs`. Sums are exact in int32. */
#pragma once

#include <stdint.h>

#include "kernels/requantize.h"

/* Forward pass in bfp8: acc[o] = the sum of weights[o][j] * in[j]. */
void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc);

/* Error of the input: acc[j] = the sum of weights[o][j] * error[o]. Both formats use it. */
void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc);

/* Weight gradient in bfp8: gradient[o][j] += trunc(error[o] * in[j] / 2^shift). A sample adds at most 127 * 127 and a
   batch has at most 65535 samples, so the saturation that docs/arithmetic.md requires cannot occur. */
void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient);

/* Forward pass in tflite8; `acc` has room for the sums of all outputs. */
void tflite_fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                               const tflite_layer_t *layer, int32_t *acc, int8_t *out);

/* Weight gradient in tflite8: gradient[o][j] += error[o] * (in[j] - input_zero). It cannot overflow: it starts from 0
   and is called at most 2^16 times. */
void tflite_fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                               int8_t input_zero, int32_t *gradient);
