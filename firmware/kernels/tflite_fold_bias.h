/* The input's zero point folded into the bias: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_FOLD_BIAS_H
#define TFLITE_FOLD_BIAS_H

#include <stdint.h>

/* folded[o] = bias[o] - input_zero * the sum of the weights of channel o, modulo 2^32. The `taps` weights of a channel are
   `tap_step` apart, the first of two channels `channel_step`: 1 and taps in conv2d, channels and 1 in depthwise. `folded` may be
   `bias`. */
void tflite_fold_bias(const int32_t *bias, const int8_t *weights, uint32_t taps, uint32_t tap_step, uint32_t channels,
                      uint32_t channel_step, int8_t input_zero, int32_t *folded);

#endif
