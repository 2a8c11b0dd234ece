#include <math.h>
#include <string.h>

#include "arith/float32.h"
#include "check.h"
#include "kernels/updates.h"
#include "naive_zeroth_order.h"

enum { ROUNDS = 3000 };

/* A layer of random scales, multipliers and shifts. */
typedef struct {
    gradient_update_t update;
    naive_update_t naive;
    float weight_scale[8];
    int32_t multiplier[8];
    int8_t shift[8];
} layer_t;

static float draw_scale(int32_t least, int32_t most) {
    return (float)ldexp(1.0 + draw(0, (1 << 23) - 1) * 0x1p-23, draw(least, most));
}

static void draw_layer(layer_t *layer) {
    naive_update_t *naive = &layer->naive;
    *naive = (naive_update_t){.eta = draw_scale(-30, 19),
                              .gns = draw(0, 1) == 0,
                              .nodes = draw(0, 1) == 0,
                              .qas = draw(0, 1) == 0,
                              .samples = (uint32_t)(draw(0, 3) == 0 ? draw(1, 65535) : 1),
                              .queries = (uint32_t)draw(1, 127),
                              .dimensions = (uint32_t)draw(1, draw(0, 1) == 0 ? 100 : 100000000),
                              .input_scale = draw_scale(-12, 4)};
    const bool wild = draw(0, 5) == 0; /* scales whose squares leave binary32 */
    const uint32_t channels = (uint32_t)draw(1, 8);
    for (uint32_t o = 0; o < channels; o++) {
        layer->weight_scale[o] = wild ? draw_scale(-40, 40) : draw_scale(-14, 2);
        layer->multiplier[o] = draw(1 << 30, INT32_MAX);
        layer->shift[o] = (int8_t)draw(-31, 30);
    }
    layer->update = (gradient_update_t){
        .rate = update_rate(naive->eta, naive->gns, naive->samples, naive->queries, naive->dimensions),
        .nodes = naive->nodes,
        .factor = 1.0f,
        .qas = naive->qas,
        .depthwise = draw(0, 1) == 0,
        .taps = (uint32_t)draw(1, 9),
        .channels = channels,
        .input_scale = naive->input_scale,
        .weight_scale = layer->weight_scale,
        .multiplier = layer->multiplier,
        .shift = layer->shift};
}

/* The text's form of channel `o`. */
static naive_update_t naive_of(const layer_t *layer, uint32_t o, bool bias) {
    naive_update_t naive = layer->naive;
    naive.bias = bias;
    naive.weight_scale = layer->weight_scale[o];
    naive.multiplier = layer->multiplier[o];
    naive.shift = layer->shift[o];
    return naive;
}

/* An exponent with which a gradient of this width makes steps of about one, or any. */
static int32_t draw_exponent(const layer_t *layer, int32_t width) {
    if (draw(0, 3) == 0) {
        return draw(-120, 120);
    }
    const naive_update_t naive = naive_of(layer, 0, false);
    const float f = naive_factor(&naive);
    int k = 0;
    if (isnormal(f)) {
        frexp((double)f, &k);
    }
    return -k - width + draw(-3, 9);
}

static int32_t draw_gradient(int32_t width) {
    const int64_t bound = INT64_C(1) << width;
    return draw(0, 9) == 0 ? (int32_t)-bound : draw((int32_t)-bound, (int32_t)(bound - 1));
}

static int64_t held(int64_t value, int64_t limit) {
    return value > limit ? limit : value < -limit ? -limit : value;
}

static void check_weights(layer_t *layer) {
    const gradient_update_t *update = &layer->update;
    const uint32_t all = update->taps * update->channels, first = (uint32_t)draw(0, (int32_t)all - 1);
    const uint32_t n = (uint32_t)draw(0, (int32_t)(all - first));
    const int32_t width = draw(0, 31);
    layer->update.exponent = draw_exponent(layer, width);
    int8_t *weights = draw_s8(n, WEIGHT_LIMIT), *expected = take(n);
    int32_t *gradient = take(n * sizeof *gradient), sums[8], expected_sums[8];
    for (uint32_t o = 0; o < 8; o++) {
        sums[o] = expected_sums[o] = draw(-5000, 5000);
    }
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = draw_gradient(width);
        const uint32_t index = first + i, o = update->depthwise ? index % update->channels : index / update->taps;
        const naive_update_t naive = naive_of(layer, o, false);
        expected[i] = (int8_t)held(weights[i] - naive_update_step(&naive, gradient[i], update->exponent), 126);
        expected_sums[o] += expected[i] - weights[i];
    }
    apply_gradient_s8(weights, gradient, first, n, update, sums);
    check_s8(weights, expected, n, "apply_gradient_s8");
    check_s32(sums, expected_sums, 8, "sums of the weights");
    free(weights);
    free(expected);
    free(gradient);
}

static void check_biases(layer_t *layer) {
    const uint32_t first = (uint32_t)draw(0, (int32_t)layer->update.channels - 1), n = layer->update.channels - first;
    const int32_t width = draw(0, 31);
    layer->update.exponent = draw_exponent(layer, width) + draw(0, 20);
    int32_t bias[8], gradient[8], expected[8];
    for (uint32_t i = 0; i < n; i++) {
        bias[i] = draw(0, 3) == 0 ? draw(-BIAS_LIMIT, BIAS_LIMIT) : draw(-3000, 3000);
        gradient[i] = draw_gradient(width);
        const naive_update_t naive = naive_of(layer, first + i, true);
        expected[i] = (int32_t)held(bias[i] - naive_update_step(&naive, gradient[i], layer->update.exponent),
                                    (1 << 30) - (1 << 20));
    }
    apply_gradient_s32(bias, gradient, first, n, &layer->update);
    check_s32(bias, expected, n, "apply_gradient_s32");
}

/* Every n around the ends of its cases, with gradients at halves, at the bound and at the ends of int32. */
static void test_step(void) {
    static const uint32_t factors[] = {1u << 23, (1u << 23) + 1, 3u << 22, 0xC90FDB, (1u << 24) - 1};
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        for (int32_t n = -70; n <= 130; n++) {
            const update_factor_t factor = {.m = factors[f], .n = n};
            for (int32_t i = 0; i < 300; i++) {
                const int64_t tie =
                    n >= 1 && n <= 62 ? (int64_t)(((__int128)(2 * draw(0, 200) + 1) << (n - 1)) / factor.m) : 0;
                const int32_t near = (int32_t)held(tie + draw(-1, 1), INT32_MAX);
                const int32_t drawn[] = {near, -near, draw_gradient(draw(0, 31)), INT32_MIN, INT32_MAX, 0, 1, -1};
                const int32_t g = drawn[i % 8];
                const __int128 exact = (__int128)g * factor.m;
                const __int128 step = n > 62   ? 0
                                      : n <= 0 ? exact * ((__int128)1 << (-n < 31 ? -n : 31))
                                               : naive_divide_away(exact, n);
                const __int128 bound = (__int128)1 << 30;
                const int64_t expected = (int64_t)(step > bound ? bound : step < -bound ? -bound : step);
                const int32_t found = update_step(g, factor);
                CHECK(found == expected, "%d * %u / 2^%d: %d, not %lld", g, factor.m, n, found, (long long)expected);
            }
        }
    }
}

static void test_rate(void) {
    for (int round = 0; round < ROUNDS; round++) {
        naive_update_t naive = {.eta = draw_scale(-100, 19),
                                .gns = draw(0, 1) == 0,
                                .samples = (uint32_t)draw(1, 65535),
                                .queries = (uint32_t)draw(1, 127),
                                .dimensions = (uint32_t)draw(1, 1 << 30)};
        const float found = update_rate(naive.eta, naive.gns, naive.samples, naive.queries, naive.dimensions);
        const float expected = naive_factor(&naive);
        CHECK(float32_bits(found) == float32_bits(expected), "%a, not %a", (double)found, (double)expected);
    }
}

/* No update where f is not a normal number: below, above and at 0. */
static void test_factors_that_are_none(void) {
    const float scales[] = {0x1p-39f, 0x1p+40f, 1.0f};
    const float etas[] = {0x1p+60f, 0x1p-60f, 0x1p-127f};
    for (uint32_t i = 0; i < 3; i++) {
        const gradient_update_t update = {
            .rate = etas[i], .qas = true, .taps = 1, .channels = 1, .weight_scale = &scales[i], .exponent = -16};
        CHECK(weight_update_factor(&update, 0).m == 0, "case %u", i);
        int8_t weight = 5;
        const int32_t gradient = INT32_MIN;
        int32_t sum = 5;
        apply_gradient_s8(&weight, &gradient, 0, 1, &update, &sum);
        CHECK(weight == 5 && sum == 5, "case %u: weight %d, sum %d", i, weight, sum);
    }
}

void test_zeroth_order_updates(void) {
    test_step();
    test_rate();
    test_factors_that_are_none();
    for (int round = 0; round < ROUNDS; round++) {
        layer_t layer;
        draw_layer(&layer);
        check_weights(&layer);
        check_biases(&layer);
    }
}
