/* Steps of QuZO, pass by pass, on networks of w16a8 and of tflite8; what it refuses; its memory. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "engine_fixture.h"
#include "formats/tflite8.h"
#include "graph_made.h"
#include "quzo_bench.h"
#include "w16a8_made.h"

enum { MOST_WEIGHTS = 2048, MOST_TENSORS = 12, SAMPLES = 2 };

typedef struct {
    uint8_t *bytes;
    uint32_t size;
    float epsilon;
} network_t;

static network_t wide_network(void) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    return (network_t){.bytes = made.bytes, .size = made.size, .epsilon = 0.01f};
}

/* Units of 2^-16 to 255 of them: some channels move by steps, others by hundredths of one. */
static network_t narrow_network(void) {
    graph_made_t made;
    made_small(&made);
    return (network_t){.bytes = made.bytes, .size = made.size, .epsilon = 3e-4f};
}

typedef struct {
    int32_t weight[MOST_TENSORS][MOST_WEIGHTS];
} weights_t;

/* All weights as they should be at rest in the first pass: within W. */
static void limited(const quzo_bench_t *bench, weights_t *rest) {
    for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
        CHECK(quzo_weights_of(bench, t) <= MOST_WEIGHTS, "room");
        for (uint32_t i = 0; i < quzo_weights_of(bench, t); i++) {
            int32_t largest, w = quzo_weight(bench, t, i);
            const int32_t scale = naive_scale(bench, t, i, &largest), limit = naive_limit(scale, largest);
            rest->weight[t][i] = w > limit ? limit : w < -limit ? -limit : w;
        }
    }
}

/* The sums that the passes of tflite8 use are those of the weights. */
static void check_sums(const quzo_bench_t *bench, uint8_t t) {
    const model_t *model = &bench->engine->model;
    const uint8_t l = model_tensor(model, t).layer;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    for (uint32_t o = 0; layer->format == FORMAT_TFLITE8 && o < layer->out_c; o++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < quzo_weights_of(bench, t); i++) {
            const uint32_t channel = layer->op == OP_DEPTHWISE ? i % layer->out_c : i / graph_taps(layer);
            sum += channel == o ? quzo_weight(bench, t, i) : 0;
        }
        CHECK(tflite8_tensors(model, l).sums[o] == sum, "layer %u: the sum of channel %u", l, o);
    }
}

/* All weights are w + sign * u of a direction. */
static void check_perturbed(const quzo_bench_t *bench, const weights_t *rest, naive_draw_t place, int32_t sign) {
    for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
        place.tensor = t;
        for (uint32_t i = 0; i < quzo_weights_of(bench, t); i++) {
            int32_t largest;
            const int32_t scale = naive_scale(bench, t, i, &largest);
            const int32_t expected = rest->weight[t][i] + sign * naive_u(place, i, scale);
            CHECK(quzo_weight(bench, t, i) == expected, "tensor %u, weight %u: %d, not %d", t, i,
                  quzo_weight(bench, t, i), expected);
        }
        check_sums(bench, t);
    }
}

/* C of a direction from its losses. */
static int32_t naive_factor(const quzo_settings_t *settings, const float pair[2]) {
    float x = pair[0] - pair[1];
    x = settings->eta * x;
    x = x / (float)(2 * SAMPLES * settings->directions);
    x = x / settings->epsilon;
    x = x / settings->epsilon;
    return (int32_t)rint(fmin(fmax((double)x, -0x1p14), 0x1p14) * 65536.0);
}

static void check_updated(const quzo_bench_t *bench, const weights_t *rest, uint32_t step, const int32_t factors[]) {
    const quzo_settings_t *settings = &bench->settings;
    for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
        naive_draw_t place = {.seed = settings->seed, .step = step, .tensor = t};
        for (uint32_t i = 0; i < quzo_weights_of(bench, t); i++) {
            int32_t largest;
            const int32_t scale = naive_scale(bench, t, i, &largest), limit = naive_limit(scale, largest);
            int64_t sum = naive_r(place, i);
            for (place.direction = 0; place.direction < settings->directions; place.direction++) {
                sum += (int64_t)factors[place.direction] * naive_v(place, i, scale);
            }
            const int64_t moved = rest->weight[t][i] - naive_floor(sum);
            const int64_t expected = moved > limit ? limit : moved < -limit ? -limit : moved;
            CHECK(quzo_weight(bench, t, i) == expected, "tensor %u, weight %u after the step", t, i);
        }
        check_sums(bench, t);
    }
}

/* A step sample by sample, by the definition. */
static void check_step(quzo_bench_t *bench, uint32_t step) {
    static weights_t rest;
    const quzo_settings_t *settings = &bench->settings;
    float losses[2] = {0}, pairs[3][2];
    int32_t factors[3], signs = 0;
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS];
    limited(bench, &rest);
    for (uint8_t pass = 0; pass < 2 * settings->directions; pass++) {
        const naive_draw_t place = {.seed = settings->seed, .step = step, .direction = pass / 2u};
        for (uint16_t sample = 0; sample < SAMPLES; sample++) {
            quzo_part(bench, step, pass, sample);
            check_perturbed(bench, &rest, place, pass % 2 == 0 ? 1 : -1);
        }
        pairs[pass / 2][pass % 2] = bench->engine->under_way.pair[pass % 2];
    }
    for (uint32_t d = 0; d < settings->directions; d++) {
        losses[0] = losses[0] + pairs[d][0];
        losses[1] = losses[1] + pairs[d][1];
        signs += (pairs[d][0] > pairs[d][1]) - (pairs[d][0] < pairs[d][1]);
        factors[d] = naive_factor(settings, pairs[d]);
    }
    CHECK(engine_step(bench->engine, step, SAMPLES, &result, digests).code == 0, "the end of a step");
    CHECK(result.loss_plus == losses[0] && result.loss_minus == losses[1], "the losses of step %u", step);
    CHECK(result.sign == (signs > 0) - (signs < 0), "the sign of step %u", step);
    check_updated(bench, &rest, step, factors);
}

static void test_definition(network_t network, uint8_t directions, uint8_t last_layers, bool flash) {
    quzo_bench_t bench = quzo_bench_of(network.bytes, network.size, flash);
    quzo_settings_t settings = quzo_plain;
    settings.epsilon = network.epsilon;
    settings.directions = directions;
    settings.last_layers = last_layers;
    settings.eta = 1e-5f;
    CHECK(quzo_configure(&bench, &settings).code == 0, "settings");
    for (uint32_t step = 0; step < 2; step++) {
        check_step(&bench, step);
    }
    quzo_bench_free(&bench);
}

/* A digest of what some steps give. */
static uint32_t outcome(network_t network, const quzo_settings_t *settings, bool flash, bool at_once) {
    quzo_bench_t bench = quzo_bench_of(network.bytes, network.size, flash);
    CHECK(quzo_configure(&bench, settings).code == 0, "settings");
    return quzo_outcome(&bench, SAMPLES, at_once);
}

/* Samples at once or one by one, a file in flash or in RAM: the same. */
static void test_ways(network_t network, uint8_t directions) {
    quzo_settings_t settings = quzo_plain;
    settings.epsilon = network.epsilon;
    settings.directions = directions;
    const uint32_t expected = outcome(network, &settings, true, true);
    CHECK(outcome(network, &settings, false, true) == expected, "the file in RAM");
    CHECK(outcome(network, &settings, false, false) == expected, "a file in RAM, sample by sample");
    settings.slots = 1;
    CHECK(outcome(network, &settings, true, false) == expected, "one slot");
}

/* What was written is held again; a step with a smaller rate goes on, where settings of another seed begin anew. */
static void test_writes(network_t network) {
    static const uint8_t high[2] = {0xFF, 0x7F};
    uint32_t digests[ENGINE_MAX_TENSORS];
    quzo_bench_t bench = quzo_bench_of(network.bytes, network.size, true);
    quzo_settings_t settings = quzo_plain;
    CHECK(quzo_configure(&bench, &settings).code == 0, "settings");
    (void)quzo_step(&bench, 0, SAMPLES, true, digests);
    CHECK(engine_write_tensor(bench.engine, 0, 2, 2, high).code == 0 && quzo_weight(&bench, 0, 1) == 32767, "a write");
    check_step(&bench, 1);
    settings.first_step = 2;
    settings.eta = 1e-4f;
    CHECK(quzo_configure(&bench, &settings).code == 0, "a smaller rate");
    check_step(&bench, 2);
    quzo_bench_free(&bench);
}

static void expect_setting(network_t network, quzo_settings_t settings, uint8_t place, const char *what) {
    quzo_bench_t bench = quzo_bench_of(network.bytes, network.size, true);
    const failure_t failure = quzo_configure(&bench, &settings);
    CHECK(place == METHOD_TAKES_ALL
              ? failure.code == 0
              : failure.code == FAILURE_BAD_SETTING && failure.a == setting_index(&quzo_settings_table, place),
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
    quzo_bench_free(&bench);
}

#define EXPECT(network, setting, value, refused)                                                                       \
    do {                                                                                                               \
        quzo_settings_t changed = quzo_plain;                                                                          \
        changed.setting = (value);                                                                                     \
        expect_setting(network, changed, (refused), #network ", " #setting " = " #value);                              \
    } while (0)
#define PLACE(setting) ((uint8_t)offsetof(quzo_settings_t, setting))

/* All weights of a network of tflite8 get one unit, 2^-10. */
static void level_units(const graph_made_t *made) {
    for (uint8_t l = 0; l < made->header.layers; l++) {
        const graph_layer_t *record = made_record(made, l);
        uint8_t *words = made->bytes + record->parameters_offset + sizeof(graph_output_t);
        const float unit = 0x1p-10f;
        for (uint32_t o = 0; o < graph_channels(record); o++) {
            memcpy(words + 4 * (2u * record->out_c + o), &unit, sizeof unit);
        }
    }
}

/* w16a8: the smaller unit is 2^-15. tflite8: with E = 44877 U is 63, half of 127. */
static void test_refusals(network_t wide) {
    graph_made_t made;
    made_small(&made);
    level_units(&made);
    made_seal(&made);
    const network_t narrow = {.bytes = made.bytes, .size = made.size};
    EXPECT(wide, epsilon, 0x1p-27f, PLACE(epsilon));
    EXPECT(wide, epsilon, 0x1.000002p-27f, METHOD_TAKES_ALL);
    EXPECT(wide, directions, 0, PLACE(directions));
    EXPECT(wide, directions, 127, METHOD_TAKES_ALL);
    EXPECT(wide, directions, 128, PLACE(directions));
    EXPECT(wide, last_layers, 0, PLACE(last_layers));
    EXPECT(wide, slots, 3, PLACE(slots));
    EXPECT(narrow, epsilon, 0x1p-22f, PLACE(epsilon));
    EXPECT(narrow, epsilon, 0x1.000002p-22f, METHOD_TAKES_ALL);
    EXPECT(narrow, epsilon, 44877.0f * 0x1p-21f, METHOD_TAKES_ALL);
    EXPECT(narrow, epsilon, 44878.0f * 0x1p-21f, PLACE(epsilon));
    made_free(&made);
}

static void test_other_format(void) {
    uint32_t planned;
    fixture_t fixture = fixture_begin();
    fixture_load(&fixture);
    const failure_t failure = engine_configure(fixture.engine, registry_method(METHOD_QUZO), &quzo_plain, &planned);
    const failure_t other = graph_other_format(0);
    CHECK(failure.code == other.code && failure.a == other.a && failure.b == other.b, "bfp8: code %u", failure.code);
    fixture_end(&fixture);
}

/* docs/arithmetic-quzo.md, section 6: theta, labels, samples, directions; the pool overlaps the values. */
static void test_memory(network_t wide) {
    quzo_bench_t bench = quzo_bench_of(wide.bytes, wide.size, true);
    quzo_settings_t settings = quzo_plain;
    CHECK(quzo_configure(&bench, &settings).code == 0 && bench.planned == 24 + 16 + 8 + 8 + 8 + 1024, "%u",
          bench.planned);
    settings.directions = 127;
    settings.last_layers = 1;
    CHECK(quzo_configure(&bench, &settings).code == 0 && bench.planned == 16 + 8 + 8 + 512 + 1024, "%u", bench.planned);
    quzo_bench_free(&bench);
}

void test_quzo_steps(void) {
    const network_t wide = wide_network(), narrow = narrow_network();
    for (uint8_t directions = 1; directions <= 3; directions += 2) {
        test_definition(wide, directions, 64, true);
        test_definition(wide, directions, 1, false);
        test_definition(narrow, directions, 64, directions == 1);
        test_definition(narrow, directions, 2, true);
        test_ways(wide, directions);
        test_ways(narrow, directions);
    }
    test_writes(wide);
    test_refusals(wide);
    test_other_format();
    test_memory(wide);
    free(wide.bytes);
    free(narrow.bytes);
}
