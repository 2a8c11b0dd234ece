#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/rescale.h"
#include "kernels/dsp_multiply.h"
#include "kernels/requantize.h"

/* Each kind of channel has its registers for itself. */
#define APART __attribute__((noinline)) static

/* Any shift and any limits of channel `c`. */
APART void any_channel(const int32_t *sums, uint32_t positions, uint32_t c, const tflite_layer_t *layer, uint32_t step,
                       int8_t *out) {
    const int32_t zero = layer->output_zero, least = layer->act_min - zero, most = layer->act_max - zero;
    const int32_t multiplier = layer->multiplier[c], shift = layer->shift[c];
    for (uint32_t p = 0; p < positions; p++) {
        int32_t value = rescale_double((int32_t)((uint32_t)sums[p] + (uint32_t)layer->bias[c]), multiplier, shift);
        value = value > most ? most : value;
        value = value < least ? least : value;
        out[p * step] = (int8_t)(value + zero);
    }
}

/* One sum that is shifted right by `right` + 1. A high product times 2^-right, with one taken from negative ones, plus
   1 and then halved is rounded half away from zero; the zero point comes in doubled, with that 1,
   before the halving. */
static inline int32_t one_byte(int32_t sum, int32_t bias, int32_t doubled, int32_t right, int32_t zero_and_half) {
    const int32_t acc = (int32_t)((uint32_t)sum + (uint32_t)bias);
    const int32_t high = add_high_product(acc, doubled);
    return half_as_byte(add_saturating((high + (high >> 31)) >> right, zero_and_half));
}

/* Channel `c`, which is shifted right and has all of int8. The high product takes twice the multiplier, less 2^32. */
APART void common_channel(const int32_t *sums, uint32_t positions, uint32_t c, const tflite_layer_t *layer,
                          uint32_t step, int8_t *out) {
    const int32_t bias = layer->bias[c], right = -layer->shift[c] - 1, zero = 2 * layer->output_zero + 1;
    const int32_t doubled = (int32_t)(2u * (uint32_t)layer->multiplier[c]);
    const int32_t *const fours = sums + positions / 4 * 4, *const end = sums + positions;
    while (sums != fours) {
        out[0] = (int8_t)one_byte(sums[0], bias, doubled, right, zero);
        out[step] = (int8_t)one_byte(sums[1], bias, doubled, right, zero);
        out[2 * step] = (int8_t)one_byte(sums[2], bias, doubled, right, zero);
        out[3 * step] = (int8_t)one_byte(sums[3], bias, doubled, right, zero);
        sums += 4;
        out += 4 * step;
    }
    while (sums != end) {
        *out = (int8_t)one_byte(*sums++, bias, doubled, right, zero);
        out += step;
    }
}

void requantize_channels_s8(const int32_t *sums, uint32_t positions, uint32_t first, uint32_t channels,
                            const tflite_layer_t *layer, uint32_t step, int8_t *out) {
    const uint32_t limited = layer->act_min != -128 || layer->act_max != 127;
    for (uint32_t c = first; c < first + channels; c++) {
        if (limited || layer->shift[c] >= 0) {
            any_channel(sums, positions, c, layer, step, out);
        } else {
            common_channel(sums, positions, c, layer, step, out);
        }
        sums += positions;
        out++;
    }
}

#endif
