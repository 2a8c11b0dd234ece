#include "kernels/elementwise_f32.h"

#define MOST_CHANGE 0x1p20f

void update_f32(const float *gradient, uint32_t n, float rate, float *weights) {
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = weights[i] - clamp_f32(rate * gradient[i], -MOST_CHANGE, MOST_CHANGE);
    }
}
