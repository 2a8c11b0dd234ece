#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/tflite_row_sums_s8.h"

/* The products of two positions and two channels, from `taps` before the ends of their rows up to the ends. One index, which counts
   up to 0, serves all four rows and ends the loop; the sums lie in the upper registers, which can add. */
#if defined(__ARM_ARCH_6M__)

static inline void two_by_two(const int8_t *x0, const int8_t *x1, const int8_t *w0, const int8_t *w1, int32_t taps,
                              int32_t sum[4]) {
    int32_t i = -taps, a, b, t;
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    __asm__(".syntax unified\n"
            "0:\n\t"
            "ldrsb %[a], [%[x0], %[i]]\n\t"
            "ldrsb %[b], [%[w0], %[i]]\n\t"
            "mov %[t], %[a]\n\t"
            "muls %[t], %[b]\n\t"
            "add %[s00], %[t]\n\t"
            "ldrsb %[t], [%[x1], %[i]]\n\t"
            "muls %[b], %[t]\n\t"
            "add %[s01], %[b]\n\t"
            "ldrsb %[b], [%[w1], %[i]]\n\t"
            "muls %[a], %[b]\n\t"
            "add %[s10], %[a]\n\t"
            "muls %[t], %[b]\n\t"
            "add %[s11], %[t]\n\t"
            "adds %[i], #1\n\t"
            "bne 0b\n\t"
            : [s00] "+h"(s00), [s01] "+h"(s01), [s10] "+h"(s10), [s11] "+h"(s11), [i] "+&l"(i), [a] "=&l"(a), [b] "=&l"(b),
              [t] "=&l"(t)
            : [x0] "l"(x0), [x1] "l"(x1), [w0] "l"(w0), [w1] "l"(w1)
            : "cc", "memory");
    sum[0] = s00;
    sum[1] = s01;
    sum[2] = s10;
    sum[3] = s11;
}

#else

static inline void two_by_two(const int8_t *x0, const int8_t *x1, const int8_t *w0, const int8_t *w1, int32_t taps,
                              int32_t sum[4]) {
    sum[0] = sum[1] = sum[2] = sum[3] = 0;
    for (int32_t i = -taps; i != 0; i++) {
        sum[0] += x0[i] * w0[i];
        sum[1] += x1[i] * w0[i];
        sum[2] += x0[i] * w1[i];
        sum[3] += x1[i] * w1[i];
    }
}

#endif

void tflite_row_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps,
                        uint32_t channels, int32_t *sums) {
    for (uint32_t o = 0; o < channels; o += 2) {
        const uint32_t next = o + 1 < channels ? o + 1 : o; /* an odd last channel is computed twice, as an odd last position */
        const int8_t *w0 = weights + (o + 1) * taps, *w1 = weights + (next + 1) * taps;
        int32_t *sums0 = sums + o * positions, *sums1 = sums + next * positions;
        for (uint32_t p = 0; p < positions; p += 2) {
            const uint32_t to_next = p + 1 < positions ? 1 : 0;
            const int8_t *x = in + p * step + taps;
            int32_t sum[4];
            two_by_two(x, x + to_next * step, w0, w1, (int32_t)taps, sum);
            sums0[p] = sum[0];
            sums0[p + to_next] = sum[1];
            sums1[p] = sum[2];
            sums1[p + to_next] = sum[3];
        }
    }
}

#endif
