#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else tflite_block_s8_dsp.c or tflite_row_sums_s8_m0.c */

#include "kernels/tflite_row_sums_s8.h"

/* Two positions by two channels: four products for four loads. `chunk` divides the taps; it is a constant to the compiler, which
   unrolls that many. */
static inline void two_by_two(const int8_t *x0, const int8_t *x1, const int8_t *w0, const int8_t *w1, uint32_t taps,
                              uint32_t chunk, int32_t sum[4]) {
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (const int8_t *end = x0 + taps; x0 != end; x0 += chunk, x1 += chunk, w0 += chunk, w1 += chunk) {
        for (uint32_t i = 0; i < chunk; i++) {
            s00 += x0[i] * w0[i];
            s01 += x1[i] * w0[i];
            s10 += x0[i] * w1[i];
            s11 += x1[i] * w1[i];
        }
    }
    sum[0] = s00;
    sum[1] = s01;
    sum[2] = s10;
    sum[3] = s11;
}

/* All positions of two channels. An odd last position is computed twice. */
static inline void two_channels(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *w0, const int8_t *w1,
                                uint32_t taps, uint32_t chunk, int32_t *sums0, int32_t *sums1) {
    for (uint32_t p = 0; p < positions; p += 2) {
        const uint32_t next = p + 1 < positions ? p + 1 : p;
        int32_t sum[4];
        two_by_two(in + p * step, in + next * step, w0, w1, taps, chunk, sum);
        sums0[p] = sum[0];
        sums0[next] = sum[1];
        sums1[p] = sum[2];
        sums1[next] = sum[3];
    }
}

void tflite_row_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps,
                        uint32_t channels, int32_t *sums) {
    for (uint32_t o = 0; o < channels; o += 2) {
        const uint32_t next = o + 1 < channels ? o + 1 : o; /* an odd last channel is computed twice */
        const int8_t *w0 = weights + o * taps, *w1 = weights + next * taps;
        int32_t *sums0 = sums + o * positions, *sums1 = sums + next * positions;
        if (taps % 8 == 0) {
            two_channels(in, step, positions, w0, w1, taps, 8, sums0, sums1);
        } else if (taps % 9 == 0) { /* first layers: 3 x 3 x 3 */
            two_channels(in, step, positions, w0, w1, taps, 9, sums0, sums1);
        } else {
            two_channels(in, step, positions, w0, w1, taps, 1, sums0, sums1);
        }
    }
}

#endif
