/* Quantization parameters of a layer in the format tflite8, and the kernels that apply them: the input's zero point
   folded into the bias, and int32 sums rescaled to int8 outputs. docs/arithmetic-tflite.md, section 3. */
#pragma once

#include <stdint.h>

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
