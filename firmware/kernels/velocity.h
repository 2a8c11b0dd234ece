/* One coordinate of SGD with momentum: docs/arithmetic-tflite.md, section 7.4. Private to apply_velocity_s8 and
   apply_velocity_s32. */
#pragma once

#include "arith/float32.h"
#include "kernels/updates.h"

#define LARGEST_VELOCITY 0x1p22f

/* How a channel's velocities follow its gradients. */
typedef struct {
    bool stays;     /* they and what is trained stay as they are */
    float momentum; /* M */
    float factor;   /* F */
} velocity_rule_t;

/* F = m / 2^n is exact where it is normal, which is where 23 - n is in -126..127. */
static inline velocity_rule_t velocity_rule(update_factor_t factor, float momentum) {
    const int32_t exponent = 23 - factor.n;
    const bool stays = factor.m == 0 || exponent > 127;
    const uint32_t word = stays || exponent < -126 ? 0 : (uint32_t)(exponent + 127) << 23 | (factor.m & 0x007FFFFFu);
    return (velocity_rule_t){.stays = stays, .momentum = momentum, .factor = float32_from_bits(word)};
}

/* Let a velocity follow its gradient. Returns D. */
static inline int32_t velocity_step(float *velocity, int32_t gradient, const velocity_rule_t *rule) {
    const float kept = rule->momentum * *velocity;
    const float added = (float)gradient * rule->factor;
    float sum = kept + added;
    sum = sum > LARGEST_VELOCITY ? LARGEST_VELOCITY : sum;
    sum = sum < -LARGEST_VELOCITY ? -LARGEST_VELOCITY : sum;
    *velocity = sum;
    return (int32_t)float32_round(sum);
}
