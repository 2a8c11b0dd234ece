#include "kernels/fully_connected_s8.h"

enum { ROWS = 4 }; /* outputs that share a loaded input */

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc) {
    for (uint32_t o = 0; o < outputs; o += ROWS) {
        /* Beyond the last output, the last one is computed again. */
        const uint32_t o1 = least(o + 1, outputs - 1), o2 = least(o + 2, outputs - 1), o3 = least(o + 3, outputs - 1);
        const int8_t *w0 = weights + o * inputs, *w1 = weights + o1 * inputs;
        const int8_t *w2 = weights + o2 * inputs, *w3 = weights + o3 * inputs;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (uint32_t j = 0; j < inputs; j++) {
            s0 += in[j] * w0[j];
            s1 += in[j] * w1[j];
            s2 += in[j] * w2[j];
            s3 += in[j] * w3[j];
        }
        acc[o] = s0;
        acc[o1] = s1;
        acc[o2] = s2;
        acc[o3] = s3;
    }
}
