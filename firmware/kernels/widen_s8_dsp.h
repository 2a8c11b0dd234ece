/* int8 values as lanes of 16 bits, two in a word and in their order, as the products of conv2d take them. Private to
   the DSP kernels of conv2d. */
#pragma once

#include "kernels/dsp.h"
#include "kernels/dsp_multiply.h"

/* Four values in two words. */
typedef struct {
    uint32_t first, second;
} widened_t;

static inline widened_t widened(uint32_t even, uint32_t odd) {
    return (widened_t){.first = low_lanes(even, odd), .second = high_lanes(even, odd)};
}

static inline widened_t widen_four(uint32_t word) {
    return widened(even_lanes(word), odd_lanes(word));
}

/* The same, added to a pair of lanes. */
static inline widened_t widen_four_from(uint32_t lanes, uint32_t word) {
    return widened(add_even_lanes(lanes, word), add_odd_lanes(lanes, word));
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
