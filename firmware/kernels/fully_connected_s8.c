#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else fully_connected_s8_dsp.c, fully_connected_s8_m0.c */

#include "kernels/fully_connected.h"

enum { ROWS = 4 }; /* outputs that share a loaded input */

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Four outputs. `chunk` divides the inputs; it is a constant to the compiler, which unrolls that many. */
static inline void four_rows(const int8_t *in, const int8_t *const w[ROWS], uint32_t inputs, uint32_t chunk,
                             int32_t sum[ROWS]) {
    const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (const int8_t *end = in + inputs; in != end; in += chunk, w0 += chunk, w1 += chunk, w2 += chunk, w3 += chunk) {
        for (uint32_t i = 0; i < chunk; i++) {
            s0 += in[i] * w0[i];
            s1 += in[i] * w1[i];
            s2 += in[i] * w2[i];
            s3 += in[i] * w3[i];
        }
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
        if (inputs % 16 == 0) {
            four_rows(in, w, inputs, 16, sum);
        } else if (inputs % 4 == 0) {
            four_rows(in, w, inputs, 4, sum);
        } else {
            four_rows(in, w, inputs, 1, sum);
        }
        for (uint32_t i = 0; i < least(ROWS, outputs - o); i++) {
            acc[o + i] = sum[i];
        }
    }
}

#endif
