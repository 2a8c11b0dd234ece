/* A step of tflite8 is the same however its samples come, wherever its file lies, and however its layers share
   memory. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "graph_trainee.h"
#include "methods/tflite8_methods.h"

enum { ROUNDS = 120, STEPS = 2 };

/* Whether the pools of a network are such that errors pass them. */
static bool takes_pools(const graph_made_t *made) {
    graph_file_t file;
    const training_t all = {.layers = 1};
    CHECK(graph_file_open(&file, made->bytes, made->size).code == 0, "a network");
    return layers_pass_errors(&file, &all);
}

/* Any settings of any method. */
static tflite8_settings_t random_settings(const graph_made_t *made) {
    tflite8_settings_t settings = trainee_settings();
    settings.train = (uint8_t)draw(TRAIN_ALL, TRAIN_BIAS);
    settings.perturb = (uint8_t)draw(PERTURB_WEIGHT, PERTURB_ADAPTIVE);
    const int32_t method = draw(0, 9);
    settings.method = method < 2 ? METHOD_DEEPZERO : method < 5 ? METHOD_BP : METHOD_POOR_MANS;
    settings.wise = settings.method == METHOD_DEEPZERO ? WISE_LAYER : (uint8_t)draw(0, 1);
    settings.momentum = draw(0, 1) == 0 ? 0.0f : 0.75f;
    settings.difference = settings.perturb == PERTURB_WEIGHT ? (uint8_t)draw(0, 1) : DIFFERENCE_FORWARD;
    settings.direction =
        settings.method == METHOD_POOR_MANS ? (uint8_t)draw(DIRECTION_SAMPLE, DIRECTION_BATCH) : DIRECTION_SAMPLE;
    settings.gns = (uint8_t)draw(0, 1);
    settings.qas = (uint8_t)draw(0, 1);
    settings.sparsity = 240;
    settings.eta = draw(0, 1) == 0 ? 0.001f : 100.0f;
    settings.batch = (uint16_t)draw(1, 3);
    settings.seed = (uint32_t)draw(0, 1 << 30);
    if (settings.method == METHOD_BP && !takes_pools(made)) {
        settings.method = METHOD_POOR_MANS;
    }
    return settings;
}

/* The sum of the digests and the losses after some steps. */
static uint32_t outcome(const graph_made_t *made, tflite8_settings_t settings, uint16_t slots, bool flash,
                        bool consumed, bool fused) {
    settings.slots = slots;
    settings.consumed = consumed;
    settings.fused = fused;
    graph_trainee_t trainee = graph_trainee_new(made, &settings, flash);
    uint32_t sum = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        step_result_t result;
        uint32_t losses[2];
        sum = sum * 31u + graph_trainee_step(&trainee, step, settings.batch, slots, &result);
        memcpy(&losses[0], &result.loss_plus, sizeof losses[0]);
        memcpy(&losses[1], &result.loss_minus, sizeof losses[1]);
        sum = sum * 31u + losses[0] * 7u + losses[1];
    }
    graph_trainee_free(&trainee);
    return sum;
}

static void test_one_outcome(void) {
    for (int round = 0; round < ROUNDS; round++) {
        graph_made_t made;
        if (round % 3 == 0) {
            made_small(&made);
        } else {
            made_random(&made);
        }
        const tflite8_settings_t settings = random_settings(&made);
        const uint32_t expected = outcome(&made, settings, settings.batch, false, false, false);
        CHECK(outcome(&made, settings, settings.batch, true, false, false) == expected, "round %d: the file in flash",
              round);
        CHECK(outcome(&made, settings, 1, true, false, false) == expected, "round %d: one sample at a time", round);
        CHECK(outcome(&made, settings, 1, false, true, false) == expected, "round %d: consumed samples", round);
        CHECK(outcome(&made, settings, settings.batch, true, false, true) == expected, "round %d: chains", round);
        CHECK(outcome(&made, settings, 1, true, true, true) == expected, "round %d: chains and consumed samples",
              round);
        made_free(&made);
    }
}

/* Perturbing and putting back leaves no trace: with a rate that moves nothing, the tensors are those of the file, once
   limited. */
static void test_nothing_is_left_behind(void) {
    for (int round = 0; round < ROUNDS; round++) {
        graph_made_t made;
        made_random(&made);
        tflite8_settings_t settings = random_settings(&made);
        settings.qas = 0;
        settings.eta = 0x1p-100f;
        settings.batch = 1;
        graph_trainee_t trainee = graph_trainee_new(&made, &settings, draw(0, 1) == 1);
        step_result_t result;
        const uint32_t after = graph_trainee_step(&trainee, 0, 1, 1, &result);
        CHECK(graph_trainee_step(&trainee, 1, 1, 1, &result) == after, "round %d: a step that moves nothing", round);
        graph_trainee_free(&trainee);
        made_free(&made);
    }
}

/* A step of the same sample again and again, `count` times; returns the sum of the digests after it. */
static uint32_t step_of_one_sample(const graph_made_t *made, tflite8_settings_t settings, uint16_t count) {
    settings.batch = count;
    settings.slots = 1;
    graph_trainee_t trainee = graph_trainee_new(made, &settings, true);
    uint32_t digests[ENGINE_MAX_TENSORS], sum = 0;
    step_result_t result;
    for (uint16_t i = 0; i < count; i++) {
        graph_trainee_fill(&trainee, 0, 1);
        CHECK(engine_part(trainee.engine, 0, 0, i, 1).code == 0, "a part");
    }
    CHECK(engine_step(trainee.engine, 0, count, &result, digests).code == 0, "a step");
    for (uint8_t i = 0; i < model_tensors(&trainee.engine->model); i++) {
        sum = sum * 31u + digests[i];
    }
    graph_trainee_free(&trainee);
    return sum;
}

/* With one direction for all samples, two that are the same train as one of them does: twice the gradient, half the
   rate. With directions of their own they do not. */
static void test_direction(void) {
    uint32_t apart = 0;
    for (int round = 0; round < ROUNDS; round++) {
        graph_made_t made;
        made_small(&made);
        tflite8_settings_t settings = trainee_settings();
        settings.perturb = (uint8_t)(round % 3);
        settings.wise = round / 3 % 2 == 0 ? WISE_LAYER : WISE_MODEL;
        settings.difference =
            settings.perturb == PERTURB_WEIGHT && draw(0, 1) == 1 ? DIFFERENCE_CENTRAL : DIFFERENCE_FORWARD;
        settings.gns = 0;
        settings.eta = 1.0f;
        settings.seed = (uint32_t)draw(0, 1 << 30);
        const uint32_t one = step_of_one_sample(&made, settings, 1);
        apart += step_of_one_sample(&made, settings, 2) != one;
        settings.direction = DIRECTION_BATCH;
        CHECK(step_of_one_sample(&made, settings, 1) == one, "round %d: one sample", round);
        CHECK(step_of_one_sample(&made, settings, 2) == one, "round %d: the same sample twice", round);
        made_free(&made);
    }
    CHECK(apart > ROUNDS / 2, "directions of their own make a difference in %u of %d", apart, ROUNDS);
}

/* DeepZero's mask is that of the step: different samples run the same layers, once for each active coordinate. */
static void test_one_mask_a_step(void) {
    for (int round = 0; round < 20; round++) {
        graph_made_t made;
        made_small(&made);
        tflite8_settings_t settings = trainee_settings();
        settings.method = METHOD_DEEPZERO;
        settings.sparsity = 240;
        settings.batch = 2;
        settings.seed = (uint32_t)draw(0, 1 << 30);
        graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
        model_t *model = &trainee.engine->model;
        uint64_t runs[2];
        for (uint16_t i = 0; i < 2; i++) {
            graph_trainee_fill(&trainee, i, 1);
            CHECK(engine_part(trainee.engine, 0, 0, i, 1).code == 0, "a part");
            runs[i] = model->layer_runs;
        }
        CHECK(runs[1] == 2 * runs[0], "%llu layer runs, then %llu", (unsigned long long)runs[0],
              (unsigned long long)runs[1]);
        graph_trainee_free(&trainee);
        made_free(&made);
    }
}

#define AT(name) offsetof(tflite8_settings_t, name)

static uint32_t index_of(uint8_t place) {
    return setting_index(&tflite8_settings_table, place);
}

static void test_settings_that_are_refused(void) {
    static const struct {
        uint8_t method, direction, wise, refused;
    } cases[] = {{METHOD_POOR_MANS, 2, WISE_LAYER, AT(direction)},
                 {METHOD_DEEPZERO, 1, WISE_LAYER, AT(direction)},
                 {METHOD_BP, 1, WISE_LAYER, AT(direction)},
                 {METHOD_DEEPZERO, 1, WISE_MODEL, AT(wise)}};
    graph_made_t made;
    made_small(&made);
    tflite8_settings_t good = trainee_settings();
    graph_trainee_t trainee = graph_trainee_new(&made, &good, true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tflite8_settings_t bad = good;
        bad.method = cases[i].method;
        bad.direction = cases[i].direction;
        bad.wise = cases[i].wise;
        const failure_t failure = graph_trainee_configure(&trainee, &bad);
        CHECK(failure.code == FAILURE_BAD_SETTING && failure.a == index_of(cases[i].refused),
              "case %zu: code %u, field %u", i, failure.code, failure.a);
    }
    tflite8_settings_t bad = good;
    bad.eta = 0.0f;
    CHECK(graph_trainee_configure(&trainee, &bad).a == index_of(AT(eta)), "eta");
    bad = good;
    bad.momentum = 1.0f;
    CHECK(graph_trainee_configure(&trainee, &bad).a == index_of(AT(momentum)), "momentum");
    graph_trainee_free(&trainee);
    made_free(&made);
}

/* A run is its steps, and its laps are all there. */
static void test_run(void) {
    graph_made_t made;
    made_small(&made);
    const tflite8_settings_t settings = trainee_settings();
    graph_trainee_t one = graph_trainee_new(&made, &settings, true), all = graph_trainee_new(&made, &settings, true);
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS], sum = 0, expected = 0;
    for (uint32_t step = 0; step < 40; step++) {
        expected = graph_trainee_step(&one, step, 1, 1, &result);
    }
    graph_trainee_fill(&all, 0, 1);
    CHECK(engine_check_run(all.engine, 0, 40, 1).code == 0, "a run");
    engine_run(all.engine, 40, 1, &result);
    engine_report(all.engine, &result, digests);
    for (uint8_t i = 0; i < model_tensors(&all.engine->model); i++) {
        sum = sum * 31u + digests[i];
    }
    CHECK(sum == expected && result.step == 39, "40 steps in a row");
    CHECK(all.engine->lap_count == ENGINE_MAX_LAPS, "%u laps", all.engine->lap_count);
    graph_trainee_free(&one);
    graph_trainee_free(&all);
    made_free(&made);
}

void test_graph_training(void) {
    test_one_outcome();
    test_nothing_is_left_behind();
    test_direction();
    test_one_mask_a_step();
    test_settings_that_are_refused();
    test_run();
}
