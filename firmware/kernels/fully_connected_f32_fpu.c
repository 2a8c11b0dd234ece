#include "kernels/fpu.h"

#if KERNELS_FPU

#include "kernels/fully_connected_f32.h"

enum { ROWS = 8 }; /* outputs that share a loaded input */

/* The sums of eight outputs, from `first` on. */
static void sum_rows(const float *in, const float *weights, uint32_t inputs, uint32_t outputs, uint32_t first,
                     float *sums) {
    const float *w[ROWS];
    float sum[ROWS] = {0.0f};
    for (uint32_t k = 0; k < ROWS; k++) {
        w[k] = weights + least_u32(first + k, outputs - 1) * inputs; /* beyond the last output, it is computed again */
    }
    for (const float *end = in + inputs; in != end; in++) {
        const float x = *in;
        for (uint32_t k = 0; k < ROWS; k++) {
            sum[k] = add_product_f32(sum[k], *w[k]++, x);
        }
    }
    for (uint32_t k = 0; k < ROWS; k++) {
        sums[k] = sum[k];
    }
}

void fully_connected_f32(const float *in, const float *weights, const float *bias, uint32_t inputs, uint32_t outputs,
                         const limits_f32_t *limits, float *out) {
    for (uint32_t o = 0; o < outputs; o += ROWS) {
        float sums[ROWS];
        sum_rows(in, weights, inputs, outputs, o, sums);
        for (uint32_t k = 0; k < least_u32(ROWS, outputs - o); k++) {
            out[o + k] = clamp_f32(sums[k] + bias[o + k], limits->least, limits->most);
        }
    }
}

#endif
