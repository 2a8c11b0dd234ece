/* Element by element in binary32: docs/arithmetic-float32.md, sections 2 to 5; docs/arithmetic-affine8.md, section
   5. */
#include "kernels/layers_f32.h"

enum { MIDDLE = 128 };

void scale_pixels_f32(const uint8_t *pixels, uint32_t n, float scale, int32_t zero, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = scale * (float)(pixels[i] - MIDDLE - zero);
    }
}

void add_f32(const float *a, const float *b, uint32_t n, const limits_f32_t *limits, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = clamp_f32(a[i] + b[i], limits->least, limits->most);
    }
}

void gate_f32(const float *out, uint32_t n, const limits_f32_t *limits, float *error) {
    const float least = limits->least, most = limits->most;
    for (uint32_t i = 0; i < n; i++) {
        const float y = out[i];
        if (!(least < y && y < most)) {
            error[i] = 0.0f;
        }
    }
}

void pass_error_f32(const float *error, uint32_t n, bool further, float *to) {
    for (uint32_t i = 0; i < n; i++) {
        give_error_f32(&to[i], error[i], further);
    }
}

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

void multiply_f32(const float *a, const float *b, uint32_t positions, uint32_t channels, float *out) {
    for (; positions > 0; positions--) {
        for (uint32_t c = 0; c < channels; c++) {
            *out++ = clamp_f32(*a++ * b[c] + 0.0f, -MOST_F32, MOST_F32);
        }
    }
}

void multiply_f32_error_of_a(const float *b, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error) {
    for (; positions > 0; positions--) {
        for (uint32_t c = 0; c < channels; c++) {
            give_error_f32(input_error++, *error++ * b[c] + 0.0f, further);
        }
    }
}

void multiply_f32_error_of_b(const float *a, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error) {
    for (uint32_t c = 0; c < channels; c++) {
        float sum = 0.0f;
        for (uint32_t p = 0; p < positions; p++) {
            sum = add_product_f32(sum, a[p * channels + c], error[p * channels + c]);
        }
        give_error_f32(&input_error[c], sum, further);
    }
}
