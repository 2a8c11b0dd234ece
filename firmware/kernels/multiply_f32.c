#include "kernels/hard_swish_f32.h"

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
