#include "kernels/hard_swish_f32.h"

#define SIXTH 0x1.555556p-3f

void hard_swish_f32(const float *in, uint32_t n, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        const float x = in[i], t = clamp_f32(x + 3.0f, 0.0f, 6.0f);
        out[i] = clamp_f32((x * t) * SIXTH + 0.0f, -MOST_F32, MOST_F32);
    }
}

void hard_swish_f32_backward(const float *in, const float *error, uint32_t n, bool further, float *input_error) {
    for (uint32_t i = 0; i < n; i++) {
        const float x = in[i], e = error[i], twice = 2.0f * x;
        const float slope = (twice + 3.0f) * SIXTH;
        give_error_f32(&input_error[i], x <= -3.0f ? 0.0f : x >= 3.0f ? e : e * slope + 0.0f, further);
    }
}
