#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else requantize_channels_s8_dsp.c or requantize_channels_s8_m0.c */

#include "kernels/requantize.h"

#include "arith/rescale.h"

void requantize_channels_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                            const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    const int32_t zero = layer->output_zero;
    const int32_t least = layer->act_min - zero,
                  most = layer->act_max - zero; /* before the zero point is added: no overflow */
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t bias = (uint32_t)layer->bias[first + c];
        const int32_t multiplier = layer->multiplier[first + c], shift = layer->shift[first + c];
        for (uint32_t p = 0; p < positions; p++) {
            int32_t value = rescale_double((int32_t)((uint32_t)*sums++ + bias), multiplier, shift);
            value = value > most ? most : value;
            value = value < least ? least : value;
            out[p * step + c] = (int8_t)(value + zero);
        }
    }
}

#endif
