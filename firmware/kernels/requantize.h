/* Rescaling of int32 sums to int8 values: to a common exponent in the format bfp8 (docs/arithmetic.md, sections 1, 4
   and 7), by output channel in the format tflite8 (docs/arithmetic-tflite.md, section 3). */
#pragma once

#include <stdint.h>

/* bits(max |values|) of `n` values: the bits of the largest magnitude, 0 when all values are 0. */
int32_t largest_bits_s32(const int32_t *values, uint32_t n);

/* bfp8. With s = bits(max |acc|) - 7: out = RoundShift(acc, s) if s > 0, else acc. Returns max(s, 0), by which the
   exponent grows. `out` may begin at the same address as `acc`. */
int32_t requantize_s8(const int32_t *acc, uint32_t n, int8_t *out);

/* tflite8: the parameters of a layer. The input's zero point is folded into the bias. */

typedef struct tflite_layer tflite_layer_t;

/* Rescale int32 sums to int8 outputs. sums[c * positions + p], c in 0..channels-1, is the sum of channel first + c,
   without its bias; its output goes to out[p * step + c]. */
typedef void requantize_channels_t(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                   const tflite_layer_t *layer, uint32_t step, int8_t *out);

/* Rescale `double` rounds twice, rescale `single` rounds once. */
requantize_channels_t requantize_channels_s8;
requantize_channels_t requantize_channels_single_s8;

struct tflite_layer {
    int8_t input_zero, output_zero;
    int8_t act_min, act_max;
    const int32_t *bias;       /* by output channel, the input's zero point folded in: tflite_fold_bias() */
    const int32_t *multiplier; /* by output channel, 2^30..2^31 - 1 */
    const int8_t *shift;       /* by output channel, -31..30 */
    requantize_channels_t *requantize;
};

/* folded[o] = bias[o] - input_zero * the sum of the weights of channel o, modulo 2^32. The `taps` weights of a channel
   are `tap_step` apart, and the first weights of neighbouring channels `channel_step`: 1 and taps in conv2d, channels
   and 1 in depthwise. `folded` may be `bias`. */
void tflite_fold_bias(const int32_t *bias, const int8_t *weights, uint32_t taps, uint32_t tap_step, uint32_t channels,
                      uint32_t channel_step, int8_t input_zero, int32_t *folded);

/* The same where sums[o], the sum of the weights of channel o, is known already. */
void tflite_fold_bias_sums(const int32_t *bias, const int32_t *sums, int8_t input_zero, uint32_t channels,
                           int32_t *folded);
