#include "kernels/dsp.h"

#if !KERNELS_DSP /* else tflite_block_s8_dsp.c */

#include "kernels/tflite_block_s8.h"

#include "kernels/tflite_row_sums_s8.h"

enum { CHANNELS = 4 }; /* that share a call: few enough for the sums to lie on the stack, enough to pay for the call */

uint64_t tflite_block_s8_scratch(uint32_t taps) {
    (void)taps;
    return 0;
}

void tflite_block_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps, uint32_t channels,
                     const tflite_layer_t *layer, int8_t *scratch, int8_t *out) {
    (void)scratch;
    for (uint32_t o = 0; o < channels; o += CHANNELS) {
        const uint32_t n = channels - o < CHANNELS ? channels - o : CHANNELS;
        int32_t sums[CHANNELS * TFLITE_BLOCK];
        tflite_row_sums_s8(in, step, positions, weights + o * taps, taps, n, sums);
        layer->requantize(sums, positions, o, n, layer, channels, out + o);
    }
}

#endif
