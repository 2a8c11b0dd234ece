/* What a layer in TFLite's convention has beside its shape and weights: docs/arithmetic-tflite.md, section 3. */
#ifndef TFLITE_LAYER_H
#define TFLITE_LAYER_H

#include <stdint.h>

typedef struct tflite_layer tflite_layer_t;

/* From int32 sums to int8 outputs. sums[c * positions + p], c in 0..channels-1, is the sum of channel first + c, without its
   bias; its output goes to out[p * step + c]. requantize_channels_s8 rounds twice, requantize_channels_single_s8 once. */
typedef void requantize_channels_t(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                   const tflite_layer_t *layer, uint32_t step, int8_t *out);

struct tflite_layer {
    int8_t input_zero, output_zero;
    int8_t act_min, act_max;
    const int32_t *bias;       /* by output channel, the input's zero point folded in: tflite_fold_bias */
    const int32_t *multiplier; /* by output channel, 2^30..2^31 - 1 */
    const int8_t *shift;       /* by output channel, -31..30 */
    requantize_channels_t *requantize;
};

#endif
