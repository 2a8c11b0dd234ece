#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "arith/rescale.h"
#include "kernels/requantize_channels_s8.h"

/* Each way has its registers for itself. */
#define APART __attribute__((noinline)) static

/* Any sum and any shift of channel `c`. */
APART int32_t any_sum(int32_t acc, uint32_t c, const tflite_layer_t *layer) {
    const int32_t multiplier = layer->multiplier[c], shift = layer->shift[c];
    const int32_t zero = layer->output_zero, least = layer->act_min - zero, most = layer->act_max - zero;
    int32_t value = rescale_double(acc, multiplier, shift);
    value = value > most ? most : value;
    value = value < least ? least : value;
    return value + zero;
}

static inline int32_t low_half(int32_t x) {
    return (int16_t)(x & 0xFFFF);
}

/* floor((acc * (2^16 * high + low) + 2^30) / 2^31) for |acc| <= 2^29: four products of 16 bits, high in 2^14..2^15, low signed. The
   middle ones and 2^30 are added in steps of 2^16; nothing overflows, as |low| and |acc's low half| are at most 2^15 and acc's
   upper half at most 2^13. */
static inline int32_t high_product(int32_t acc, int32_t high, int32_t low) {
    const int32_t acc_low = low_half(acc), acc_high = (acc - acc_low) >> 16;
    const int32_t middle = acc_low * high + acc_high * low + (1 << 14) + ((acc_low * low) >> 16);
    return 2 * (acc_high * high) + (middle >> 15);
}

/* A multiplication of 64 bits is a call on this core, so sums that fit are multiplied by halves. The rounding is that of
   requantize_channels_s8_dsp.c: one off negative ones, the zero point and a half doubled, then a halving. */
APART void common_channel(const int32_t *sums, uint32_t positions, uint32_t c, const tflite_layer_t *layer, uint32_t step,
                          int8_t *out) {
    const int32_t multiplier = layer->multiplier[c], low = low_half(multiplier), high = (multiplier >> 16) + (low < 0 ? 1 : 0);
    const int32_t right = -layer->shift[c] - 1, zero = 2 * layer->output_zero + 1;
    const int32_t least = layer->act_min, most = layer->act_max;
    const uint32_t bias = (uint32_t)layer->bias[c];
    for (const int32_t *const end = sums + positions; sums != end; out += step) {
        const int32_t acc = (int32_t)((uint32_t)*sums++ + bias);
        if (((uint32_t)acc + (1u << 29)) >> 30 != 0) {
            *out = (int8_t)any_sum(acc, c, layer);
            continue;
        }
        const int32_t product = high_product(acc, high, low);
        int32_t value = (((product + (product >> 31)) >> right) + zero) >> 1; /* |product| <= 2^29: no overflow */
        value = value > most ? most : value;
        *out = (int8_t)(value < least ? least : value);
    }
}

void requantize_channels_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                            const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    for (uint32_t c = first; c < first + channels; c++) {
        if (layer->shift[c] < 0) {
            common_channel(sums, positions, c, layer, step, out);
        } else {
            for (uint32_t p = 0; p < positions; p++) {
                const int32_t acc = (int32_t)((uint32_t)sums[p] + (uint32_t)layer->bias[c]);
                out[p * step] = (int8_t)any_sum(acc, c, layer);
            }
        }
        sums += positions;
        out++;
    }
}

#endif
