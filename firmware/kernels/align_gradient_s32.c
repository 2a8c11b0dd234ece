#include "kernels/gradients.h"

int32_t align_gradient_s32(int32_t *gradient, uint32_t n, bool first, int32_t x, int32_t *exponent) {
    if (first) {
        for (uint32_t i = 0; i < n; i++) {
            gradient[i] = 0;
        }
        *exponent = x;
    } else if (x > *exponent) {
        scale_gradient_s32(gradient, n, x - *exponent);
        *exponent = x;
    }
    return *exponent - x;
}
