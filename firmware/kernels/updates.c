/* Updates from a gradient, with and without momentum, and limits: docs/arithmetic-zeroth-order.md, sections 2 and 6;
   docs/arithmetic-tflite.md, section 7.4. */
#include "kernels/updates.h"

#include "arith/float32.h"
#include "arith/integers.h"
#include "kernels/core.h"
#include "kernels/layer_errors.h"
#include "kernels/perturbation.h"
#include "kernels/velocity.h"

void limit_s8(int8_t *weights, uint32_t n, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = (int8_t)clip(weights[i], limit);
    }
}

void limit_s16(int16_t *weights, uint32_t n, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = (int16_t)clip(weights[i], limit);
    }
}

void limit_s32(int32_t *values, uint32_t n, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = clip(values[i], limit);
    }
}

float update_rate(float eta, bool gns, uint32_t samples, uint32_t queries, uint32_t dimensions) {
    const uint32_t losses = samples * queries;
    float f = eta;
    if (gns) {
        const float norm = (float)losses / (float)(losses + dimensions - 1u);
        f = f * norm;
    }
    return f / (float)losses;
}

static update_factor_t factor_of(const gradient_update_t *update, uint32_t o, float unit, int32_t exponent) {
    float f = update->rate;
    if (update->nodes) {
        const float slope =
            update->factor * channel_factor(update->multiplier, update->shift, o); /* dL/dw, of one in the error */
        f = f * slope;
    }
    if (update->qas) {
        f = f / unit;
        f = f / unit;
    }
    const uint32_t word = float32_bits(f), field = word >> 23 & 0xFFu;
    if (field == 0 || field == 0xFFu) {
        return (update_factor_t){.m = 0, .n = 0};
    }
    const int32_t k = (int32_t)field - 127 - 23;
    return (update_factor_t){.m = (word & 0x007FFFFFu) | 0x00800000u, .n = -(k + exponent)};
}

SEPARATE update_factor_t weight_update_factor(const gradient_update_t *update, uint32_t o) {
    return factor_of(update, o, update->weight_scale[o], update->exponent);
}

SEPARATE update_factor_t bias_update_factor(const gradient_update_t *update, uint32_t o) {
    const float unit = update->input_scale * update->weight_scale[o];
    const int32_t lowered = update->nodes ? 0 : bias_step_exponent(update->shift[o]);
    return factor_of(update, o, unit, update->exponent - lowered);
}

/* The magnitude of D, where n <= 0: with a product of 2^23 at least, a shift of 7 reaches 2^30. */
static uint64_t raised(uint64_t product, int32_t n) {
    return product << (n < -7 ? 7 : -n);
}

SEPARATE int32_t update_step(int32_t gradient, update_factor_t factor) {
    if (factor.n > 62) {
        return 0;
    }
    if (factor.n > 32) {
        return update_step_upper(gradient, factor.m, factor.n);
    }
    const uint64_t product = (uint64_t)magnitude(gradient) * factor.m;
    const uint64_t size =
        factor.n > 0 ? (product + (UINT64_C(1) << (factor.n - 1))) >> factor.n : raised(product, factor.n);
    const int32_t step = size > (1u << 30) ? 1 << 30 : (int32_t)size;
    return gradient < 0 ? -step : step;
}

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

void apply_gradient_s32(int32_t *bias, const int32_t *gradient, uint32_t first, uint32_t n,
                        const gradient_update_t *update) {
    for (uint32_t i = 0; i < n; i++) {
        const update_factor_t factor = bias_update_factor(update, first + i);
        bias[i] = clip(bias[i] - update_step(gradient[i], factor), BIAS_LIMIT);
    }
}

/* Every `step`-th coordinate from `i` up to, not including, `end`: those of one channel. Returns what the sum of its
   weights grows by. */
typedef struct {
    uint32_t i, end, step;
} velocity_run_t;

static int32_t apply_velocity(int8_t *weights, float *velocity, const int32_t *gradient, velocity_run_t run,
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
        const velocity_run_t run = {.i = i, .end = left < n ? left : n, .step = step};
        const velocity_rule_t rule = velocity_rule(weight_update_factor(update, o), momentum);
        sums[o] += apply_velocity(weights, velocity, gradient, run, &rule);
        i = update->depthwise ? i + 1 : run.end;
    }
}

void apply_velocity_s32(int32_t *bias, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                        float momentum, const gradient_update_t *update) {
    for (uint32_t i = 0; i < n; i++) {
        const velocity_rule_t rule = velocity_rule(bias_update_factor(update, first + i), momentum);
        if (!rule.stays) {
            bias[i] = clip(bias[i] - velocity_step(velocity + i, gradient[i], &rule), BIAS_LIMIT);
        }
    }
}
