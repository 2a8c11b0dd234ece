#include "kernels/updates.h"

#include "arith/clip127.h"
#include "kernels/velocity.h"

/* Every `step`-th coordinate from `i` up to, not including, `end`: those of one channel. Returns what the sum of its
   weights grows by. */
typedef struct {
    uint32_t i, end, step;
} run_t;

static int32_t apply(int8_t *weights, float *velocity, const int32_t *gradient, run_t run,
                     const velocity_rule_t *rule) {
    int32_t growth = 0;
    for (uint32_t i = run.i; i < run.end && !rule->stays; i += run.step) {
        const int32_t before = weights[i],
                      after = clip(before - velocity_step(velocity + i, gradient[i], rule), WEIGHT_LIMIT);
        weights[i] = (int8_t)after;
        growth += after - before;
    }
    return growth;
}

void apply_velocity_s8(int8_t *weights, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                       float momentum, const gradient_update_t *update, int32_t *sums) {
    const uint32_t step = update->depthwise ? update->channels : 1;
    for (uint32_t i = 0; i < n && i < (update->depthwise ? step : n);) {
        const uint32_t o = update->depthwise ? (first + i) % step : (first + i) / update->taps;
        const uint32_t left = update->depthwise ? n : (o + 1) * update->taps - first;
        const run_t run = {.i = i, .end = left < n ? left : n, .step = step};
        const velocity_rule_t rule = velocity_rule(weight_update_factor(update, o), momentum);
        sums[o] += apply(weights, velocity, gradient, run, &rule);
        i = update->depthwise ? i + 1 : run.end;
    }
}
