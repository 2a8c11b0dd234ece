/* SGD with momentum beside the text of docs/arithmetic-tflite.md, section 7.4. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "kernels/updates.h"
#include "kernels/velocity.h"

enum { ROUNDS = 3000, CHANNELS = 6 };

/* One coordinate as the text has it: products of two floats are exact in double precision, and their sum is to be
   rounded once, so in long double, which holds it exactly or well beyond binary32's halves. */
static int32_t text_step(float *velocity, int32_t gradient, update_factor_t factor, float momentum) {
    const long double exact = ldexpl((long double)factor.m, -factor.n);
    if (factor.m == 0 || exact >= 0x1p128L) {
        return 0;
    }
    const double f = exact < 0x1p-126L ? 0.0 : (double)exact;
    const float kept = (float)((double)momentum * (double)*velocity), added = (float)((double)(float)gradient * f);
    const float sum = isinf(added) ? added : (float)((long double)kept + (long double)added);
    *velocity = sum > 0x1p22f ? 0x1p22f : sum < -0x1p22f ? -0x1p22f : sum;
    return (int32_t)nearbyint((double)*velocity);
}

static int64_t held(int64_t value, int64_t limit) {
    return value > limit ? limit : value < -limit ? -limit : value;
}

typedef struct {
    float weight_scale[CHANNELS], momentum;
    int32_t multiplier[CHANNELS];
    int8_t shift[CHANNELS];
    gradient_update_t update;
} moved_t;

static void draw_moved(moved_t *moved) {
    const uint32_t channels = (uint32_t)draw(1, CHANNELS);
    for (uint32_t o = 0; o < channels; o++) {
        moved->weight_scale[o] = (float)ldexp(1.0 + draw(0, 1000) / 1001.0, draw(-12, 0));
        moved->multiplier[o] = draw(1 << 30, INT32_MAX);
        moved->shift[o] = (int8_t)draw(-12, 0);
    }
    moved->momentum = (float)draw(1, 999) / 1000.0f;
    moved->update = (gradient_update_t){
        .rate = (float)ldexp(1.0 + draw(0, 1000) / 1001.0, draw(0, 9) == 0 ? draw(-140, 19) : draw(-12, 0)),
        .nodes = true,
        .factor = 1.0f + (float)draw(0, 999) / 1000.0f,
        .qas = draw(0, 1) == 0,
        .depthwise = draw(0, 1) == 0,
        .taps = (uint32_t)draw(1, 9),
        .channels = channels,
        .input_scale = 0.02f,
        .weight_scale = moved->weight_scale,
        .multiplier = moved->multiplier,
        .shift = moved->shift,
        .exponent = draw(0, 4) == 0 ? draw(-200, 200) : draw(-16, 8)};
}

static float *draw_velocities(uint32_t n) {
    float *velocity = take(n * sizeof *velocity);
    for (uint32_t i = 0; i < n; i++) {
        velocity[i] = draw(0, 2) == 0 ? 0.0f : (float)ldexp((double)draw(-1000, 1000), draw(-12, 12));
    }
    return velocity;
}

static void check_velocities(const float *found, const float *expected, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "velocity %u: %a, not %a", i, (double)found[i], (double)expected[i]);
    }
}

static void check_weights(const moved_t *moved) {
    const gradient_update_t *update = &moved->update;
    const uint32_t all = update->taps * update->channels, first = (uint32_t)draw(0, (int32_t)all - 1);
    const uint32_t n = (uint32_t)draw(0, (int32_t)(all - first));
    int8_t *weights = draw_s8(n, WEIGHT_LIMIT), *expected = take(n);
    float *velocity = draw_velocities(n), *wanted = take(n * sizeof *wanted);
    int32_t *gradient = take(n * sizeof *gradient), sums[CHANNELS] = {0}, expected_sums[CHANNELS] = {0};
    memcpy(wanted, velocity, n * sizeof *wanted);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t index = first + i, o = update->depthwise ? index % update->channels : index / update->taps;
        gradient[i] = draw(0, 3) == 0 ? 0 : draw(-100000, 100000);
        expected[i] = (int8_t)held(
            weights[i] - text_step(wanted + i, gradient[i], weight_update_factor(update, o), moved->momentum), 126);
        expected_sums[o] += expected[i] - weights[i];
    }
    apply_velocity_s8(weights, velocity, gradient, first, n, moved->momentum, update, sums);
    check_s8(weights, expected, n, "apply_velocity_s8");
    check_s32(sums, expected_sums, CHANNELS, "sums of the weights");
    check_velocities(velocity, wanted, n);
    free(weights);
    free(expected);
    free(velocity);
    free(wanted);
    free(gradient);
}

static void check_biases(const moved_t *moved) {
    const uint32_t first = (uint32_t)draw(0, (int32_t)moved->update.channels - 1), n = moved->update.channels - first;
    float *velocity = draw_velocities(n), *wanted = take(n * sizeof *wanted);
    int32_t bias[CHANNELS], gradient[CHANNELS], expected[CHANNELS];
    memcpy(wanted, velocity, n * sizeof *wanted);
    for (uint32_t i = 0; i < n; i++) {
        bias[i] = draw(0, 3) == 0 ? draw(-BIAS_LIMIT, BIAS_LIMIT) : draw(-3000, 3000);
        gradient[i] = draw(-100000, 100000);
        const int64_t step =
            text_step(wanted + i, gradient[i], bias_update_factor(&moved->update, first + i), moved->momentum);
        expected[i] = (int32_t)held(bias[i] - step, BIAS_LIMIT);
    }
    apply_velocity_s32(bias, velocity, gradient, first, n, moved->momentum, &moved->update);
    check_s32(bias, expected, n, "apply_velocity_s32");
    check_velocities(velocity, wanted, n);
    free(velocity);
    free(wanted);
}

/* Every n at which F begins and ends, and velocities at their bound. */
static void test_ends(void) {
    for (int32_t n = -140; n <= 180; n++) {
        for (int32_t i = 0; i < 6; i++) {
            const update_factor_t factor = {.m = i % 2 == 0 ? 1u << 23 : (1u << 24) - 1, .n = n};
            const velocity_rule_t rule = velocity_rule(factor, 0.5f);
            float found = i < 2 ? 0x1p22f : -3.0f, expected = found;
            const int32_t gradient = i < 4 ? INT32_MAX : INT32_MIN;
            const int32_t wanted = text_step(&expected, gradient, factor, 0.5f);
            const int32_t step = rule.stays ? 0 : velocity_step(&found, gradient, &rule);
            CHECK(step == wanted && found == expected, "n %d: %d and %a, not %d and %a", n, step, (double)found, wanted,
                  (double)expected);
        }
    }
}

void test_velocities(void) {
    test_ends();
    for (int round = 0; round < ROUNDS; round++) {
        moved_t moved;
        draw_moved(&moved);
        check_weights(&moved);
        check_biases(&moved);
    }
}
