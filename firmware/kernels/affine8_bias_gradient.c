#include "kernels/affine8.h"

void affine8_bias_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t channels, int32_t *gradient) {
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t i = 0; i < errors->count; i++) {
            gradient[i] += errors->error[p * channels + errors->kept[i]] - errors->zero;
        }
    }
}
