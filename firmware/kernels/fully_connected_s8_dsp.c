#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/fully_connected_s8.h"

enum { ROWS = 4 }; /* outputs that share a loaded input */

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline int32_t four_products(int32_t sum, uint32_t even, uint32_t odd, const int8_t *weights) {
    const uint32_t w = load_word(weights);
    return add_products(add_products(sum, even, even_lanes(w)), odd, odd_lanes(w));
}

static inline void four_rows(const int8_t *in, const int8_t *const w[ROWS], uint32_t inputs, int32_t sum[ROWS]) {
    const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const int8_t *const fours = in + inputs / 4 * 4, *const end = in + inputs;
    for (; in != fours; in += 4, w0 += 4, w1 += 4, w2 += 4, w3 += 4) {
        const uint32_t x = load_word(in), even = even_lanes(x), odd = odd_lanes(x);
        s0 = four_products(s0, even, odd, w0);
        s1 = four_products(s1, even, odd, w1);
        s2 = four_products(s2, even, odd, w2);
        s3 = four_products(s3, even, odd, w3);
    }
    for (; in != end; in++) {
        s0 += *in * *w0++;
        s1 += *in * *w1++;
        s2 += *in * *w2++;
        s3 += *in * *w3++;
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc) {
    for (uint32_t o = 0; o < outputs; o += ROWS) {
        const int8_t *w[ROWS];
        for (uint32_t i = 0; i < ROWS; i++) {
            w[i] = weights + least(o + i, outputs - 1) * inputs; /* beyond the last output, it is computed again */
        }
        int32_t sum[ROWS];
        four_rows(in, w, inputs, sum);
        for (uint32_t i = 0; i < least(ROWS, outputs - o); i++) {
            acc[o + i] = sum[i];
        }
    }
}

#endif
