/* fully_connected in the format bfp8, forward and backward: docs/arithmetic.md, sections 4 and 7. Weights are `outputs`
   rows of `inputs`. Sums are exact in int32. */
#pragma once

#include <stdint.h>

/* Forward pass: acc[o] = the sum of weights[o][j] * in[j]. */
void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc);

/* Error of the input: acc[j] = the sum of weights[o][j] * error[o]. The format tflite8 uses it too. */
void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc);

/* Weight gradient: gradient[o][j] += trunc(error[o] * in[j] / 2^shift). A sample adds at most 127 * 127 and a batch has
   at most 65535 samples, so the saturation that docs/arithmetic.md requires cannot occur. */
void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient);
