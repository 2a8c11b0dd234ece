#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else tflite_gradient_sums_s8_dsp.c, tflite_gradient_sums_s8_m0.c */

#include "kernels/tflite_gradient_sums_s8.h"

enum { TAPS = 4 }; /* sums that stay in registers together */

/* An error of 0, of which the gate leaves many, adds nothing. */
static inline void four_taps(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error, int32_t zero,
                             uint32_t channels, int32_t sum[TAPS]) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t p = 0; p < positions; p++, in += step, error += channels) {
        const int32_t e = *error - zero;
        if (e != 0) {
            s0 += e * in[0];
            s1 += e * in[1];
            s2 += e * in[2];
            s3 += e * in[3];
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

static inline int32_t one_tap(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error, int32_t zero,
                              uint32_t channels) {
    int32_t sum = 0;
    for (uint32_t p = 0; p < positions; p++) {
        sum += (error[p * channels] - zero) * in[p * step];
    }
    return sum;
}

static inline void add(int32_t *gradient, int32_t sum) {
    *gradient = (int32_t)((uint32_t)*gradient + (uint32_t)sum);
}

void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                             int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient) {
    for (uint32_t o = 0; o < channels; o++, gradient += taps) {
        uint32_t t = 0;
        for (; t + TAPS <= taps; t += TAPS) {
            int32_t sum[TAPS];
            four_taps(in + t, step, positions, error + o, error_zero, channels, sum);
            for (uint32_t i = 0; i < TAPS; i++) {
                add(gradient + t + i, sum[i]);
            }
        }
        for (; t < taps; t++) {
            add(gradient + t, one_tap(in + t, step, positions, error + o, error_zero, channels));
        }
    }
}

#endif
