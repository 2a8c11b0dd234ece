/* What TinyTrain has in common with bp, and what does not depend on how samples come, on many networks. */
#include <string.h>

#include "arith/float32.h"
#include "check.h"
#include "tinytrain_made.h"

enum { ROUNDS = 60, TESTED = 5 };

/* Any network that bp takes, and settings that TinyTrain takes. */
static tflite8_settings_t draw_trial(graph_made_t *made) {
    tflite8_settings_t settings = tinytrain_settings();
    do {
        if (made->bytes != NULL) {
            made_free(made);
        }
        static void (*const makers[])(graph_made_t *) = {made_small, tinytrain_made_wide, made_random, made_random};
        makers[draw(0, 3)](made);
        settings.train = (uint8_t)draw(TRAIN_ALL, TRAIN_POINTWISE_LAST);
        settings.qas = (uint8_t)draw(0, 1);
        settings.train_bias = settings.train == TRAIN_BIAS ? 1 : (uint8_t)draw(0, 1);
        settings.momentum = draw(0, 1) == 0 ? 0.0f : 0.75f;
        settings.eta = settings.qas ? 0.01f : 100.0f;
        settings.batch = settings.slots = (uint16_t)draw(1, 3);
        settings.ranking = (uint16_t)draw(1, 2);
        settings.blocks = (uint8_t)draw(1, 15);
        settings.first_step = (uint32_t)draw(0, 3) * 0x55555555u;
        settings.memory_budget = draw(0, 1) == 0 ? UINT32_MAX : (uint32_t)draw(1, 4000);
        settings.work_budget = (uint16_t)draw(1, 256);
        settings.channels = (uint16_t)draw(1, 256);
    } while (tinytrain_refused(made, &settings) != METHOD_TAKES_ALL);
    return settings;
}

/* With both budgets and the channels at their limits, trained steps are those of bp. */
static void test_whole(void) {
    for (int round = 0; round < ROUNDS; round++) {
        graph_made_t made = {.bytes = NULL};
        tflite8_settings_t settings = draw_trial(&made);
        settings.memory_budget = UINT32_MAX;
        settings.work_budget = settings.channels = 256;
        settings.first_step = 0;
        tflite8_settings_t plain = settings;
        plain.method = METHOD_BP;
        plain.first_step = settings.ranking;
        graph_trainee_t one = graph_trainee_new(&made, &settings, true), other = graph_trainee_new(&made, &plain, true);
        step_result_t result, expected;
        for (uint32_t step = 0; step < settings.ranking; step++) {
            (void)graph_trainee_step(&one, step, settings.batch, settings.batch, &result);
        }
        for (uint32_t step = settings.ranking; step < TESTED; step++) {
            const uint32_t digests = graph_trainee_step(&one, step, settings.batch, settings.batch, &result);
            CHECK(graph_trainee_step(&other, step, settings.batch, settings.batch, &expected) == digests,
                  "round %d: step %u", round, step);
            CHECK(result.loss_plus == expected.loss_plus, "round %d: the loss of step %u", round, step);
            const training_t *training =
                &other.engine->model.training; /* bp goes back to a layer that is not reached */
            const bool alike = in_set(training->reached, training->first_backward);
            CHECK(!alike || one.engine->model.macs == other.engine->model.macs, "round %d: products", round);
        }
        graph_trainee_free(&one);
        graph_trainee_free(&other);
        made_free(&made);
    }
}

/* A copy of all trained tensors, one after the other. */
static uint8_t *copy_of(const model_t *model) {
    uint32_t size = 0;
    for (uint8_t i = 0; i < model_tensors(model); i++) {
        size += model_tensor(model, i).size;
    }
    uint8_t *copy = take(size);
    for (uint8_t i = 0, *to = copy; i < model_tensors(model); i++) {
        const trained_tensor_t of = model_tensor(model, i);
        memcpy(to, of.bytes, of.size);
        to += of.size;
    }
    return copy;
}

static bool is_kept(const model_t *model, uint8_t l, uint32_t channel) {
    if (!in_set(model->training.updated, l)) {
        return false;
    }
    const kept_t kept = tflite8_kept(model, l);
    bool found = kept.list == NULL;
    for (uint32_t i = 0; i < kept.channels && !found; i++) {
        found = kept.list[i] == channel;
    }
    return found;
}

static uint32_t channel_of(const graph_layer_t *layer, const trained_tensor_t *tensor, uint32_t i) {
    if (tensor->kind != TENSOR_WEIGHTS) {
        return i / (uint32_t)sizeof(int32_t);
    }
    return layer->op == OP_DEPTHWISE ? i % graph_channels(layer) : i / graph_taps(layer);
}

/* Channels that are kept are those of `moved`, all others those of `before`; NULL: they are not compared. */
static void check_tensors(const model_t *model, const uint8_t *before, const uint8_t *moved, int round) {
    uint32_t at = 0;
    for (uint8_t i = 0; i < model_tensors(model); i++) {
        const trained_tensor_t tensor = model_tensor(model, i);
        const graph_layer_t *layer = graph_layer(&model->file, tensor.layer);
        for (uint32_t j = 0; j < tensor.size; j++, at++) {
            const bool kept = is_kept(model, tensor.layer, channel_of(layer, &tensor, j));
            const uint8_t *expected = kept ? moved : before;
            CHECK(expected == NULL || tensor.bytes[j] == expected[at], "round %d: layer %u, byte %u, kept %d", round,
                  tensor.layer, j, kept);
        }
    }
}

/* The sums of all weights are right. */
static void check_sums(const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint32_t channels = graph_channels(graph_layer(&model->file, l));
        if (in_set(model->training.layers, l) && model->training.weights) {
            const tensors_t now = tflite8_tensors(model, l);
            int32_t *sums = take(channels * sizeof *sums);
            memcpy(sums, now.sums, channels * sizeof *sums);
            tflite8_sum_weights(model, l);
            check_s32(sums, now.sums, channels, "sums of weights");
            free(sums);
        }
    }
}

/* In the first trained step a kept channel moves as with bp, and nothing else moves. */
static void test_first_step(void) {
    for (int round = 0; round < 2 * ROUNDS; round++) {
        graph_made_t made = {.bytes = NULL};
        tflite8_settings_t settings = draw_trial(&made);
        settings.first_step = 0;
        tflite8_settings_t plain = settings;
        plain.method = METHOD_BP;
        const bool flash = draw(0, 1) == 1;
        graph_trainee_t one = graph_trainee_new(&made, &settings, flash),
                        other = graph_trainee_new(&made, &plain, flash);
        step_result_t result;
        for (uint32_t step = 0; step < settings.ranking; step++) {
            (void)graph_trainee_step(&one, step, settings.batch, settings.batch, &result);
        }
        uint8_t *before = copy_of(&one.engine->model);
        (void)graph_trainee_step(&one, settings.ranking, settings.batch, settings.batch, &result);
        (void)graph_trainee_step(&other, 0, settings.batch, settings.batch, &result);
        uint8_t *moved = copy_of(&other.engine->model);
        check_tensors(&one.engine->model, before, moved, round);
        free(before);
        free(moved);
        graph_trainee_free(&one);
        graph_trainee_free(&other);
        made_free(&made);
    }
}

/* The choice is within its budgets, and the last step had the work that it was to have. */
static void check_budgets(const model_t *model, int round) {
    const costs_t costs = tinytrain_costs(model);
    const uint64_t chosen = model->training.updated;
    uint64_t bytes = 0, forward = 0;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        bytes += in_set(chosen, l) ? tinytrain_bytes(&costs, l) : 0;
        forward += graph_products(graph_layer(&model->file, l));
    }
    CHECK(chosen != 0 && bytes <= costs.settings->memory_budget, "round %d: the memory", round);
    CHECK(tinytrain_work(&costs, chosen) <= tinytrain_most_work(&costs), "round %d: the work", round);
    const uint64_t products = forward + tinytrain_work(&costs, chosen);
    CHECK(model->macs == products * costs.settings->batch, "round %d: %llu products, not %llu", round,
          (unsigned long long)model->macs, (unsigned long long)(products * costs.settings->batch));
}

/* Velocities begin with 0, whatever was there. */
static void test_velocities_begin(void) {
    graph_made_t made;
    tinytrain_made_wide(&made);
    tflite8_settings_t settings = tinytrain_settings();
    settings.momentum = 0.9f;
    settings.work_budget = 256;
    graph_trainee_t one = graph_trainee_new(&made, &settings, true), other = graph_trainee_new(&made, &settings, true);
    const plan_t *plan = &other.engine->model.plan;
    memset(other.arena + plan->at[TINYTRAIN_SELECTED], 0x44, plan->always - plan->at[TINYTRAIN_SELECTED]);
    for (uint32_t step = 0; step < TESTED; step++) {
        step_result_t result;
        const uint32_t expected = graph_trainee_step(&one, step, settings.batch, settings.batch, &result);
        CHECK(graph_trainee_step(&other, step, settings.batch, settings.batch, &result) == expected, "step %u", step);
    }
    graph_trainee_free(&one);
    graph_trainee_free(&other);
    made_free(&made);
}

/* However samples come and wherever the file lies, the outcome is the same; and only kept channels move. */
static void test_one_outcome(void) {
    for (int round = 0; round < ROUNDS; round++) {
        graph_made_t made = {.bytes = NULL};
        const tflite8_settings_t drawn = draw_trial(&made);
        uint32_t expected = 0;
        for (size_t way = 0; way < TINYTRAIN_WAYS; way++) {
            tflite8_settings_t settings = drawn;
            settings.slots = tinytrain_ways[way].one_by_one ? 1 : settings.batch;
            settings.consumed = tinytrain_ways[way].consumed;
            settings.fused = tinytrain_ways[way].fused;
            graph_trainee_t trainee = graph_trainee_new(&made, &settings, tinytrain_ways[way].flash);
            const model_t *model = &trainee.engine->model;
            step_result_t result;
            uint32_t sum = 0;
            uint8_t *before = NULL;
            for (uint32_t step = 0; step < TESTED; step++) {
                sum = sum * 31u +
                      graph_trainee_step(&trainee, drawn.first_step + step, settings.batch, settings.slots, &result);
                sum = sum * 31u + float32_bits(result.loss_plus);
                CHECK((model->training.updated != 0) == (step + 1 >= drawn.ranking), "round %d: the choice", round);
                before = step == 0 ? copy_of(model) : before;
            }
            check_tensors(model, before, NULL, round);
            check_sums(model);
            check_budgets(model, round);
            free(before);
            graph_trainee_free(&trainee);
            expected = way == 0 ? sum : expected;
            CHECK(sum == expected, "round %d, way %zu", round, way);
        }
        made_free(&made);
    }
}

void test_tinytrain_properties(void) {
    test_whole();
    test_first_step();
    test_velocities_begin();
    test_one_outcome();
}
