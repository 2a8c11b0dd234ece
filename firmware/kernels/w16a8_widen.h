/* int8 inputs less their zero point, as the products of w16a8 take them. Private to its kernels. */
#pragma once

#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/dsp_multiply.h"

/* The four values of a word; `negative_zero` in both lanes. */
static inline void w16a8_widen_four(const int8_t *in, uint32_t negative_zero, int16_t *out) {
    const uint32_t word = load_word(in);
    const uint32_t even = add_even_lanes(negative_zero, word), odd = add_odd_lanes(negative_zero, word);
    store_word((int8_t *)out, low_lanes(even, odd));
    store_word((int8_t *)(out + 2), high_lanes(even, odd));
}

/* out = in - zero, for `n` values. `out` is at any even address. */
static inline void w16a8_widen(const int8_t *in, uint32_t n, int8_t zero, int16_t *out) {
    const uint32_t negative_zero = low_lanes((uint32_t)-zero, (uint32_t)-zero);
    const int8_t *const end = in + n;
    for (; n >= 8; n -= 8, in += 8, out += 8) {
        w16a8_widen_four(in, negative_zero, out);
        w16a8_widen_four(in + 4, negative_zero, out + 4);
    }
    if (n >= 4) {
        w16a8_widen_four(in, negative_zero, out);
        in += 4;
        out += 4;
    }
    while (in != end) {
        *out++ = (int16_t)(*in++ - zero);
    }
}

#else

static inline void w16a8_widen(const int8_t *in, uint32_t n, int8_t zero, int16_t *out) {
    for (const int8_t *const end = in + n; in != end;) {
        *out++ = (int16_t)(*in++ - zero);
    }
}

#endif
