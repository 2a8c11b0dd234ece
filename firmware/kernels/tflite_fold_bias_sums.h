/* The input's zero point folded into the bias, where the sums of the weights are known: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_FOLD_BIAS_SUMS_H
#define TFLITE_FOLD_BIAS_SUMS_H

#include <stdint.h>

/* folded[o] = bias[o] - input_zero * sums[o], modulo 2^32, sums[o] being the sum of the weights of channel o. `folded` may be `bias`. */
void tflite_fold_bias_sums(const int32_t *bias, const int32_t *sums, int8_t input_zero, uint32_t channels,
                           int32_t *folded);

#endif
