#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_requantize_dsp.c, affine8_requantize_m0.c */

#include "kernels/affine8.h"

void affine8_requantize_channels(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                 const affine8_layer_t *layer, uint32_t step, int8_t *out) {
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t bias = (uint32_t)layer->bias[first + c];
        for (uint32_t p = 0; p < positions; p++) {
            const int32_t acc = (int32_t)((uint32_t)*sums++ + bias);
            const int32_t value = layer->output_zero + affine8_rescale(acc, layer->factor);
            out[p * step + c] = (int8_t)(value < layer->least  ? layer->least
                                         : value > layer->most ? layer->most
                                                               : value);
        }
    }
}

#endif
