#include "kernels/updates.h"

#include "arith/clip127.h"
#include "kernels/velocity.h"

void apply_velocity_s32(int32_t *bias, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                        float momentum, const gradient_update_t *update) {
    for (uint32_t i = 0; i < n; i++) {
        const velocity_rule_t rule = velocity_rule(bias_update_factor(update, first + i), momentum);
        if (!rule.stays) {
            bias[i] = clip(bias[i] - velocity_step(velocity + i, gradient[i], &rule), BIAS_LIMIT);
        }
    }
}
