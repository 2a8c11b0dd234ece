#include "kernels/fpu.h"

#if !KERNELS_FPU /* else fully_connected_f32_fpu.c */

#include "kernels/fully_connected_f32.h"

void fully_connected_f32(const float *in, const float *weights, const float *bias, uint32_t inputs, uint32_t outputs,
                         const limits_f32_t *limits, float *out) {
    for (uint32_t o = 0; o < outputs; o++, weights += inputs) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < inputs; i++) {
            sum = add_product_f32(sum, weights[i], in[i]);
        }
        out[o] = clamp_f32(sum + bias[o], limits->least, limits->most);
    }
}

#endif
