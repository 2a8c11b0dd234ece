#include "kernels/updates.h"

#include "arith/clip127.h"

/* Weights of one channel, `step` apart. */
typedef struct {
    int8_t *weights;
    const int32_t *gradient;
    uint32_t count, step;
} run_t;

/* Returns what the weight grows by. */
static int32_t move(int8_t *weight, int32_t step) {
    const int32_t before = *weight, after = clip(before - step, WEIGHT_LIMIT);
    *weight = (int8_t)after;
    return after - before;
}

/* n in 33..55, as almost always. D is certainly 0, for any m, where |G| * m < |G| * 2^24 <= 2^(n-1). */
static int32_t apply_small(const run_t *run, update_factor_t factor) {
    const uint32_t zero = 1u << (factor.n - 25);
    int32_t growth = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const int32_t g = run->gradient[i * run->step];
        if ((uint32_t)g + zero > 2 * zero) {
            growth += move(run->weights + i * run->step, update_step_upper(g, factor.m, factor.n));
        }
    }
    return growth;
}

/* Returns what the sum of the weights grows by. Where n >= 56, no |G| <= 2^31 makes a D other than 0. */
static int32_t apply(const run_t *run, update_factor_t factor) {
    int32_t growth = 0;
    if (factor.m == 0 || factor.n >= 56) {
        return 0;
    }
    if (factor.n > 32) {
        return apply_small(run, factor);
    }
    for (uint32_t i = 0; i < run->count; i++) {
        growth += move(run->weights + i * run->step, update_step(run->gradient[i * run->step], factor));
    }
    return growth;
}

static void by_rows(int8_t *weights, const int32_t *gradient, uint32_t first, uint32_t n,
                    const gradient_update_t *update, int32_t *sums) {
    for (uint32_t i = 0; i < n;) {
        const uint32_t o = (first + i) / update->taps, left = (o + 1) * update->taps - (first + i);
        const run_t run = {
            .weights = weights + i, .gradient = gradient + i, .count = left < n - i ? left : n - i, .step = 1};
        sums[o] += apply(&run, weight_update_factor(update, o));
        i += run.count;
    }
}

/* Depthwise: a channel's weights are `channels` apart. */
static void by_columns(int8_t *weights, const int32_t *gradient, uint32_t first, uint32_t n,
                       const gradient_update_t *update, int32_t *sums) {
    const uint32_t channels = update->channels;
    for (uint32_t i = 0; i < n && i < channels; i++) {
        const uint32_t o = (first + i) % channels;
        const run_t run = {.weights = weights + i,
                           .gradient = gradient + i,
                           .count = (n - i + channels - 1) / channels,
                           .step = channels};
        sums[o] += apply(&run, weight_update_factor(update, o));
    }
}

void apply_gradient_s8(int8_t *weights, const int32_t *gradient, uint32_t first, uint32_t n,
                       const gradient_update_t *update, int32_t *sums) {
    if (update->depthwise) {
        by_columns(weights, gradient, first, n, update, sums);
    } else {
        by_rows(weights, gradient, first, n, update, sums);
    }
}
