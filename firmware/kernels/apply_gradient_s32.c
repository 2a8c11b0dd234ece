#include "kernels/updates.h"

#include "arith/clip127.h"

void apply_gradient_s32(int32_t *bias, const int32_t *gradient, uint32_t first, uint32_t n,
                        const gradient_update_t *update) {
    for (uint32_t i = 0; i < n; i++) {
        const update_factor_t factor = bias_update_factor(update, first + i);
        bias[i] = clip(bias[i] - update_step(gradient[i], factor), BIAS_LIMIT);
    }
}
