#include "kernels/conv2d_f32.h"

void bias_gradient_f32(const float *error, uint32_t positions, uint32_t channels, float *gradient) {
    for (uint32_t o = 0; o < channels; o++) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < positions; i++) {
            sum = sum + error[i * channels + o];
        }
        gradient[o] = gradient[o] + sum;
    }
}
