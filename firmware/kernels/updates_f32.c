/* Updates and perturbations in binary32: docs/arithmetic-float32.md, section 6; docs/arithmetic-qzo-ff.md, section
   6. */
#include "kernels/updates_f32.h"

#include "arith/float32.h"
#include "arith/normal.h"
#include "kernels/sums_f32.h"

#define MOST_CHANGE 0x1p20f

void update_f32(const float *gradient, uint32_t n, float rate, float *weights) {
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = weights[i] - clamp_f32(rate * gradient[i], -MOST_CHANGE, MOST_CHANGE);
    }
}

void move_f32(float *weights, uint32_t n, uint32_t state, float c) {
    const float unit = c * float32_power_of_two(-NORMAL_FRACTION);
    for (uint32_t i = 0; i < n; i++) {
        const float moved = unit * (float)normal_of_word(normal_word(state, i));
        weights[i] = weights[i] + moved;
    }
}

float adamw_step(const adamw_t *adamw, float gradient, float *first_moment, float *second_moment) {
    const float old1 = adamw->beta1 * *first_moment, new1 = adamw->rest1 * gradient;
    const float square = gradient * gradient;
    const float old2 = adamw->beta2 * *second_moment, new2 = adamw->rest2 * square;
    *first_moment = old1 + new1;
    *second_moment = old2 + new2;
    const float first = *first_moment / adamw->weigh1, second = *second_moment / adamw->weigh2;
    const float divisor = sqrt32(second) + adamw->epsilon;
    const float direction = first / divisor;
    return direction * adamw->rate;
}
