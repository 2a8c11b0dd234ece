#include "kernels/elementwise_f32.h"

void gate_f32(const float *out, uint32_t n, const limits_f32_t *limits, float *error) {
    for (uint32_t i = 0; i < n; i++) {
        error[i] = limits->least < out[i] && out[i] < limits->most ? error[i] : 0.0f;
    }
}
