/* Steps of perturbed scales, pass by pass, on networks of tflite8; what it refuses; its memory. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "arith/xxh32.h"
#include "check.h"
#include "engine_fixture.h"
#include "formats/tflite8.h"
#include "graph_made.h"
#include "quzo_bench.h"
#include "w16a8_made.h"

enum { MOST_CHANNELS = 16, MOST_TENSORS = 12, SAMPLES = 2, ONE = 1 << 24 };

typedef struct {
    int32_t gain[MOST_TENSORS][MOST_CHANNELS];
} gains_of_all_t;

static const perturbed_scales_settings_t plain = {.method = METHOD_PERTURBED_SCALES,
                                                  .batch = SAMPLES,
                                                  .slots = SAMPLES,
                                                  .seed = 1,
                                                  .epsilon = 0.01f,
                                                  .eta = 0.01f,
                                                  .last_layers = 64};

static failure_t configure(quzo_bench_t *bench, const perturbed_scales_settings_t *settings) {
    return engine_configure(bench->engine, registry_method(METHOD_PERTURBED_SCALES), settings, &bench->planned);
}

static quzo_bench_t bench_of(const graph_made_t *made, const perturbed_scales_settings_t *settings, bool flash) {
    quzo_bench_t bench = quzo_bench_of(made->bytes, made->size, flash);
    CHECK(configure(&bench, settings).code == 0, "settings");
    return bench;
}

static int32_t *gains_in(const quzo_bench_t *bench, uint8_t tensor) {
    return (int32_t *)(void *)model_tensor(&bench->engine->model, tensor).bytes;
}

static uint32_t channels_of(const quzo_bench_t *bench, uint8_t tensor) {
    return model_tensor(&bench->engine->model, tensor).size / 4;
}

static int32_t scale_of(const perturbed_scales_settings_t *settings) {
    return (int32_t)rint((double)settings->epsilon * 524288.0);
}

/* All gains as they should be at rest in the first pass. */
static void at_rest(const quzo_bench_t *bench, const perturbed_scales_settings_t *settings, gains_of_all_t *rest) {
    for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
        CHECK(channels_of(bench, t) <= MOST_CHANNELS, "room");
        for (uint32_t c = 0; c < channels_of(bench, t); c++) {
            rest->gain[t][c] = (int32_t)naive_held_gain(gains_in(bench, t)[c], scale_of(settings));
        }
    }
}

/* The network with the factors of g + k * E * z in its file; its layers run with nothing that gains have made. */
static graph_made_t baked(const quzo_bench_t *bench, const graph_made_t *made, const gains_of_all_t *rest,
                          naive_draw_t place, int64_t k) {
    graph_made_t copy = {.header = made->header, .bytes = take(made->size), .size = made->size};
    memcpy(copy.bytes, made->bytes, made->size);
    for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
        const graph_layer_t *record = made_record(&copy, model_tensor(&bench->engine->model, t).layer);
        int32_t *words = (int32_t *)(void *)(copy.bytes + record->parameters_offset + sizeof(graph_output_t));
        int8_t *shifts = (int8_t *)(words + 4 * record->out_c);
        place.tensor = t;
        for (uint32_t c = 0; c < record->out_c; c++) {
            const int64_t gain = rest->gain[t][c] + k * naive_z(place, c);
            const naive_scaled_t scaled = naive_scaled(words[record->out_c + c], shifts[c], gain);
            words[record->out_c + c] = (int32_t)scaled.multiplier;
            shifts[c] = (int8_t)scaled.shift;
        }
    }
    made_seal(&copy);
    return copy;
}

/* The loss of the samples on a network as its file has it, and the digest of the logits of the last. */
static float loss_of(const graph_made_t *made, uint32_t *digest) {
    quzo_bench_t bench = quzo_bench_of(made->bytes, made->size, true);
    float sum = 0.0f;
    quzo_settings_t settings = quzo_plain;
    settings.epsilon = 3e-4f; /* which any network takes */
    CHECK(quzo_configure(&bench, &settings).code == 0, "settings of another method");
    for (uint16_t sample = 0; sample < SAMPLES; sample++) {
        const model_t *model = &bench.engine->model;
        quzo_put(&bench, 0, sample);
        CHECK(engine_forward(bench.engine, 0).code == 0, "a forward pass");
        sum = sum + tflite8_loss(model, model_logits(model, 0), model_label(model, 0));
        *digest = xxh32(model_logits(model, 0), model_logits_bytes(model), 0);
    }
    quzo_bench_free(&bench);
    return sum;
}

/* A pass has the loss of the network with other factors in its file. */
static float check_pass(const quzo_bench_t *bench, const graph_made_t *made, const gains_of_all_t *rest,
                        naive_draw_t place, int64_t k) {
    uint32_t digest;
    graph_made_t copy = baked(bench, made, rest, place, k);
    const float expected = loss_of(&copy, &digest), found = bench->engine->under_way.pair[k < 0];
    CHECK(found == expected, "the loss of a pass: %a, not %a", (double)found, (double)expected);
    made_free(&copy);
    return found;
}

/* Evaluation takes the gains at rest. */
static void check_evaluation(quzo_bench_t *bench, const graph_made_t *made, const gains_of_all_t *rest) {
    uint32_t expected;
    const model_t *model = &bench->engine->model;
    graph_made_t copy = baked(bench, made, rest, (naive_draw_t){.seed = 0}, 0);
    (void)loss_of(&copy, &expected);
    quzo_put(bench, 0, SAMPLES - 1);
    CHECK(engine_forward(bench->engine, 0).code == 0, "a forward pass");
    CHECK(xxh32(model_logits(model, 0), model_logits_bytes(model), 0) == expected, "the logits at rest");
    made_free(&copy);
}

static int64_t naive_factor(const perturbed_scales_settings_t *settings, const float loss[2]) {
    float x = loss[0] - loss[1];
    x = x / (float)(2 * SAMPLES);
    x = x / settings->epsilon;
    if (settings->clip > 0.0f) {
        x = fminf(fmaxf(x, -settings->clip), settings->clip);
    }
    x = settings->eta * x;
    return (int64_t)rint(fmin(fmax((double)x, -0x1p14), 0x1p14) * 0x1p27);
}

static void check_untouched(const quzo_bench_t *bench, const graph_made_t *made) {
    CHECK(memcmp(bench->engine->model.file.bytes, made->bytes, made->size) == 0, "the file was written");
}

/* A step sample by sample, by the definition. */
static void check_step(quzo_bench_t *bench, const graph_made_t *made, const perturbed_scales_settings_t *settings,
                       uint32_t step) {
    static gains_of_all_t rest;
    const naive_draw_t place = {.seed = settings->seed, .step = step};
    float loss[2];
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS];
    at_rest(bench, settings, &rest);
    for (uint8_t pass = 0; pass < 2; pass++) {
        for (uint16_t sample = 0; sample < SAMPLES; sample++) {
            quzo_part(bench, step, pass, sample);
        }
        loss[pass] = check_pass(bench, made, &rest, place, pass == 0 ? scale_of(settings) : -scale_of(settings));
    }
    CHECK(engine_step(bench->engine, step, SAMPLES, &result, digests).code == 0, "the end of a step");
    CHECK(result.loss_plus == loss[0] && result.loss_minus == loss[1], "the losses of step %u", step);
    CHECK(result.sign == (loss[0] > loss[1]) - (loss[0] < loss[1]), "the sign of step %u", step);
    const int64_t factor = naive_factor(settings, loss);
    for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
        naive_draw_t drawn = place;
        drawn.tensor = t;
        for (uint32_t c = 0; c < channels_of(bench, t); c++) {
            const int64_t moved = rest.gain[t][c] - naive_gain_move(factor, naive_z(drawn, c));
            rest.gain[t][c] = (int32_t)naive_held_gain(moved, scale_of(settings));
            CHECK(gains_in(bench, t)[c] == rest.gain[t][c], "tensor %u, gain %u: %d, not %d", t, c,
                  gains_in(bench, t)[c], rest.gain[t][c]);
        }
        CHECK(digests[t] == xxh32(rest.gain[t], 4 * channels_of(bench, t), 0), "digest %u", t);
    }
    check_evaluation(bench, made, &rest);
    check_untouched(bench, made);
}

static void test_definition(const graph_made_t *made, perturbed_scales_settings_t settings, bool flash) {
    quzo_bench_t bench = bench_of(made, &settings, flash);
    for (uint32_t step = 0; step < 3; step++) {
        check_step(&bench, made, &settings, step);
    }
    quzo_bench_free(&bench);
}

static void test_networks(void) {
    for (uint32_t round = 0; round < 12; round++) {
        graph_made_t made;
        if (round == 0) {
            made_small(&made);
        } else {
            made_random(&made);
        }
        perturbed_scales_settings_t settings = plain;
        settings.seed = (uint32_t)draw(0, 1 << 30);
        settings.epsilon = round % 2 == 0 ? 0.01f : 0x1p-5f;
        settings.eta = round % 4 < 2 ? 0.05f : 1.0f;
        settings.clip = round % 3 == 0 ? 0.5f : 0.0f;
        settings.last_layers = round % 3 == 2 ? 2 : 64;
        test_definition(&made, settings, round % 2 == 0);
        made_free(&made);
    }
}

/* A digest of what some steps give. */
static uint32_t outcome(const graph_made_t *made, perturbed_scales_settings_t settings, bool flash, bool at_once) {
    quzo_bench_t bench = bench_of(made, &settings, flash);
    return quzo_outcome(&bench, SAMPLES, at_once);
}

/* Samples at once or one by one, a file in flash or in RAM: the same. */
static void test_ways(const graph_made_t *made) {
    perturbed_scales_settings_t settings = plain;
    const uint32_t expected = outcome(made, settings, true, true);
    CHECK(outcome(made, settings, false, true) == expected, "the file in RAM");
    CHECK(outcome(made, settings, false, false) == expected, "a file in RAM, sample by sample");
    settings.slots = 1;
    CHECK(outcome(made, settings, true, false) == expected, "one slot");
}

/* With the smallest rate nothing moves: all gains are 2^24 after the step, and the factors those of the file. */
static void test_nothing_moves(const graph_made_t *made) {
    perturbed_scales_settings_t settings = plain;
    uint32_t digests[ENGINE_MAX_TENSORS];
    settings.eta = 0x1p-40f;
    quzo_bench_t bench = bench_of(made, &settings, true);
    (void)quzo_step(&bench, 0, SAMPLES, true, digests);
    for (uint8_t t = 0; t < model_tensors(&bench.engine->model); t++) {
        const uint8_t l = model_tensor(&bench.engine->model, t).layer;
        const graph_parameters_t own = graph_parameters(&bench.engine->model.file, made_record(made, l));
        const tensors_t used = tflite8_tensors(&bench.engine->model, l);
        for (uint32_t c = 0; c < channels_of(&bench, t); c++) {
            CHECK(gains_in(&bench, t)[c] == ONE, "gain %u of tensor %u: %d", c, t, gains_in(&bench, t)[c]);
            CHECK(used.multiplier[c] == own.multiplier[c] && used.shift[c] == own.shift[c], "its factor");
        }
    }
    quzo_bench_free(&bench);
}

static failure_t write_gain(quzo_bench_t *bench, uint8_t tensor, uint32_t channel, int32_t gain) {
    return engine_write_tensor(bench->engine, tensor, 4 * channel, 4, (const uint8_t *)&gain);
}

/* What was written acts at once, and is held in the next step; a smaller rate goes on, where settings of another seed
   begin anew. */
static void test_writes(const graph_made_t *made) {
    perturbed_scales_settings_t settings = plain;
    static gains_of_all_t written;
    quzo_bench_t bench = bench_of(made, &settings, false);
    check_step(&bench, made, &settings, 0);
    CHECK(write_gain(&bench, 0, 1, 1 << 26).code == 0 && write_gain(&bench, 1, 0, 1 << 22).code == 0, "a write");
    CHECK(gains_in(&bench, 0)[1] == 1 << 26 && gains_in(&bench, 1)[0] == 1 << 22, "what was written");
    for (uint8_t t = 0; t < model_tensors(&bench.engine->model); t++) {
        memcpy(written.gain[t], gains_in(&bench, t), 4 * channels_of(&bench, t));
    }
    check_evaluation(&bench, made, &written);
    check_step(&bench, made, &settings, 1); /* which holds them first */
    settings.first_step = 2;
    settings.eta = 0x1p-40f;
    CHECK(configure(&bench, &settings).code == 0 && write_gain(&bench, 0, 1, 1 << 26).code == 0, "a write");
    check_step(&bench, made, &settings, 2);
    CHECK(gains_in(&bench, 0)[1] == (1 << 26) - 92 * scale_of(&settings), "W_max: %d", gains_in(&bench, 0)[1]);
    settings.first_step = 3;
    settings.eta = 1e-4f;
    CHECK(configure(&bench, &settings).code == 0, "a smaller rate");
    CHECK(gains_in(&bench, 0)[1] == (1 << 26) - 92 * scale_of(&settings), "a schedule leaves the gains");
    check_step(&bench, made, &settings, 3);
    settings.seed = 2;
    settings.first_step = 4;
    CHECK(configure(&bench, &settings).code == 0 && gains_in(&bench, 0)[1] == ONE, "another seed begins anew");
    check_step(&bench, made, &settings, 4);
    quzo_bench_free(&bench);
}

/* No gain beyond 1/4..4 is taken, in part neither. */
static void test_refused_writes(const graph_made_t *made) {
    static const int32_t refused[] = {0, -1, (1 << 22) - 1, (1 << 26) + 1, INT32_MIN, INT32_MAX};
    quzo_bench_t bench = bench_of(made, &plain, true);
    for (uint32_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const failure_t failure = write_gain(&bench, 1, 1, refused[i]);
        CHECK(failure.code == FAILURE_BAD_TENSOR && failure.a == 1 && failure.b == 4, "%d was taken", refused[i]);
    }
    const uint8_t upper = 0x05; /* of 0x05000000 */
    const failure_t failure = engine_write_tensor(bench.engine, 1, 7, 1, &upper);
    CHECK(failure.code == FAILURE_BAD_TENSOR && failure.b == 7 && gains_in(&bench, 1)[1] == ONE, "its upper byte");
    quzo_bench_free(&bench);
}

static void expect_setting(const graph_made_t *made, perturbed_scales_settings_t settings, uint8_t place,
                           const char *what) {
    quzo_bench_t bench = quzo_bench_of(made->bytes, made->size, true);
    const failure_t failure = configure(&bench, &settings);
    CHECK(place == METHOD_TAKES_ALL ? failure.code == 0
                                    : failure.code == FAILURE_BAD_SETTING &&
                                          failure.a == setting_index(&perturbed_scales_settings_table, place),
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
    quzo_bench_free(&bench);
}

#define EXPECT(setting, value, refused)                                                                                \
    do {                                                                                                               \
        perturbed_scales_settings_t changed = plain;                                                                   \
        changed.setting = (value);                                                                                     \
        expect_setting(&made, changed, (refused), #setting " = " #value);                                              \
    } while (0)
#define PLACE(setting) ((uint8_t)offsetof(perturbed_scales_settings_t, setting))

/* The shift of the last channel of a layer. */
static void put_shift(graph_made_t *made, uint32_t layer, int8_t shift) {
    const graph_layer_t *record = made_record(made, layer);
    uint8_t *parameters = made->bytes + record->parameters_offset + sizeof(graph_output_t);
    ((int8_t *)parameters)[17u * record->out_c - 1] = shift;
    made_seal(made);
}

static void test_refusals(void) {
    graph_made_t made;
    made_small(&made);
    EXPECT(epsilon, 0x1.fffffep-19f, PLACE(epsilon));
    EXPECT(epsilon, 0x1p-18f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 0x1p-5f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 0x1.000002p-5f, PLACE(epsilon));
    EXPECT(eta, 0.0f, PLACE(eta));
    EXPECT(clip, -1.0f, PLACE(clip));
    EXPECT(clip, 0x1p20f, METHOD_TAKES_ALL);
    EXPECT(last_layers, 0, PLACE(last_layers));
    EXPECT(slots, 3, PLACE(slots));
    static const int8_t fit[] = {-29, 27}, beyond[] = {-30, -31, 28, 30};
    for (uint32_t i = 0; i < sizeof fit; i++) {
        put_shift(&made, 8, fit[i]);
        EXPECT(last_layers, 64, METHOD_TAKES_ALL);
    }
    for (uint32_t i = 0; i < sizeof beyond; i++) {
        put_shift(&made, 8, beyond[i]);
        EXPECT(last_layers, 64, PLACE(last_layers));
        EXPECT(last_layers, 3, PLACE(last_layers)); /* layers 8, 9 and 11 */
        EXPECT(last_layers, 2, METHOD_TAKES_ALL);
    }
    made_free(&made);
}

static void test_other_formats(void) {
    uint32_t planned;
    w16a8_made_t wide;
    const failure_t other = graph_other_format(0);
    fixture_t fixture = fixture_begin();
    fixture_load(&fixture);
    failure_t failure = engine_configure(fixture.engine, registry_method(METHOD_PERTURBED_SCALES), &plain, &planned);
    CHECK(failure.code == other.code && failure.a == other.a && failure.b == other.b, "bfp8: code %u", failure.code);
    fixture_end(&fixture);
    w16a8_made_network(&wide);
    quzo_bench_t bench = quzo_bench_of(wide.bytes, wide.size, true);
    failure = configure(&bench, &plain);
    CHECK(failure.code == other.code && failure.a == other.a && failure.b == other.b, "w16a8: code %u", failure.code);
    quzo_bench_free(&bench);
    free(wide.bytes);
}

/* docs/arithmetic-quzo.md, section 10, on conv2d to 5 channels and fully connected to 4, behind a table: what stays are
   48 and 40 bytes of gains, labels and two samples; then the pool, beside which nothing lives. */
static void test_memory(void) {
    graph_made_t made;
    made_with_mean(&made);
    perturbed_scales_settings_t settings = plain;
    quzo_bench_t bench = bench_of(&made, &settings, true);
    CHECK(bench.planned == 48 + 40 + 8 + 168 + 1024, "%u", bench.planned);
    settings.last_layers = 1;
    CHECK(configure(&bench, &settings).code == 0 && bench.planned == 40 + 8 + 168 + 1024, "%u", bench.planned);
    quzo_bench_free(&bench);
    bench = bench_of(&made, &settings, false);
    CHECK(bench.planned == (made.size + 7) / 8 * 8 + 40 + 8 + 168 + 1024, "in RAM: %u", bench.planned);
    quzo_bench_free(&bench);
    made_free(&made);
}

void test_perturbed_scales(void) {
    graph_made_t made;
    made_small(&made);
    test_networks();
    test_ways(&made);
    test_nothing_moves(&made);
    test_writes(&made);
    test_refused_writes(&made);
    test_refusals();
    test_other_formats();
    test_memory();
    made_free(&made);
}
