#include "kernels/elementwise_f32.h"

void gate_f32(const float *out, uint32_t n, const limits_f32_t *limits, float *error) {
    const float least = limits->least, most = limits->most;
    for (uint32_t i = 0; i < n; i++) {
        const float y = out[i];
        if (!(least < y && y < most)) {
            error[i] = 0.0f;
        }
    }
}
