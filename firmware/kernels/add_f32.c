#include "kernels/elementwise_f32.h"

void add_f32(const float *a, const float *b, uint32_t n, const limits_f32_t *limits, float *out) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = clamp_f32(a[i] + b[i], limits->least, limits->most);
    }
}
