#include "kernels/requantize.h"

#include "arith/rescale.h"

void requantize_channels_single_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                                   const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    const int64_t zero = layer->output_zero;
    for (uint32_t c = 0; c < channels; c++) {
        const uint32_t bias = (uint32_t)layer->bias[first + c];
        const int32_t multiplier = layer->multiplier[first + c], shift = layer->shift[first + c];
        for (uint32_t p = 0; p < positions; p++) {
            int64_t value = rescale_single((int32_t)((uint32_t)*sums++ + bias), multiplier, shift) + zero;
            value = value > layer->act_max ? layer->act_max : value;
            value = value < layer->act_min ? layer->act_min : value;
            out[p * step + c] = (int8_t)value;
        }
    }
}
