/* int8 values as lanes of 16 bits, two in a word and in their order, as the products of conv2d take them. Private to
   the DSP kernels of conv2d. */
#pragma once

#include "kernels/dsp.h"

/* Four values in two words. */
typedef struct {
    uint32_t first, second;
} widened_t;

static inline widened_t widen_four(uint32_t word) {
    const uint32_t even = even_lanes(word), odd = odd_lanes(word);
    return (widened_t){.first = low_lanes(even, odd), .second = high_lanes(even, odd)};
}

static inline void widen_s8(const int8_t *in, uint32_t n, int16_t *out) {
    for (; n >= 4; n -= 4, in += 4, out += 4) {
        const widened_t four = widen_four(load_word(in));
        memcpy(out, &four.first, sizeof four.first);
        memcpy(out + 2, &four.second, sizeof four.second);
    }
    for (; n > 0; n--) {
        *out++ = *in++;
    }
}
