/* SPSA on tflite8, one two-sided query a step: docs/arithmetic-spsa.md. */
#include "arith/rademacher.h"
#include "kernels/gradients.h"
#include "kernels/losses.h"
#include "kernels/perturbation.h"
#include "methods/tflite8_methods.h"

enum {
    UNIT = -16,                 /* exponent of delta */
    BLOCK = 2 * SIGNS_PER_WORD, /* numbers of a gradient on the stack */
    PASSES = 2,
};

/* The draws of a layer: one direction for all samples of a step. */
static uint32_t signs_of(const model_t *model, const step_t *step, uint8_t l) {
    return rademacher_begin(rademacher_state(tflite8_settings(model)->seed, step->step, 0, l, 0));
}

/* Add k times the direction to everything that is trained. */
static void perturb(model_t *model, const step_t *step, int32_t k) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (!in_set(model->training.layers, l)) {
            continue;
        }
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const tensors_t tensors = tflite8_tensors(model, l);
        const uint32_t signs =
            perturb_weights_s8(tensors.weights, trained_weights(&model->training, layer), signs_of(model, step, l), k);
        (void)perturb_biases_s32(tensors.bias, tensors.shift, trained_biases(&model->training, layer), signs, k);
    }
    stopwatch_book(&model->watch, &model->account.perturb);
}

/* Make the weights those of the pass. */
static void begin_pass(model_t *model, step_t *step) {
    tflite8_begin_pass(model, step);
    if (step->pass == 0) {
        perturb(model, step, 1);
    } else {
        perturb(model, step, -1);
        perturb(model, step, -1);
    }
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    const uint16_t *labels = (const uint16_t *)(const void *)(model->arena + model->plan.at[PLAN_LABELS]);
    const pass_t moved = {.sample = model_sample(model, slot), .count = 1, .perturbed = model->training.layers};
    pass_run_all(model, &moved);
    step->loss[step->pass] = step->loss[step->pass] + pass_loss(model, &moved, labels[slot]);
}

/* A block at a time, in the order of the draws. */
static void update_layer(model_t *model, const step_t *step, uint8_t l, int32_t delta) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t weights = trained_weights(&model->training, layer), all = trained_count(&model->training, layer);
    const gradient_sink_t sink = gradient_open_step(model, l, step->through, UNIT);
    query_t query = {.signs = signs_of(model, step, l), .delta = delta};
    int32_t block[BLOCK];
    for (uint32_t i = 0, n; i < all; i += n) {
        const uint32_t left = (i < weights ? weights : all) - i;
        n = left < BLOCK ? left : BLOCK;
        signed_sums_s32(&query, 1, n, block);
        gradient_take(&sink, i, n, block);
    }
}

static int8_t finish(model_t *model, step_t *step) {
    stopwatch_start(&model->watch);
    perturb(model, step, 1);
    const float difference = step->loss[0] - step->loss[1];
    const int32_t delta = loss_delta(difference * 0.5f);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(model->training.layers, l)) {
            update_layer(model, step, l, delta);
        }
    }
    return 0;
}

static void stand(plan_t *plan, const model_t *model) {
    const uint16_t slots = model->settings.slots;
    plan_stand(plan, PLAN_LABELS, sizeof(uint16_t) * (uint64_t)slots);
    plan_stand(plan, PLAN_SAMPLES, slots * graph_elements(&model->file, 0));
}

static uint8_t check(const settings_t *settings, const graph_file_t *file) {
    static const tflite8_only_t only[] = {
        {offsetof(tflite8_settings_t, perturb), PERTURB_WEIGHT},
        {offsetof(tflite8_settings_t, wise), WISE_MODEL},
        {offsetof(tflite8_settings_t, difference), DIFFERENCE_CENTRAL},
        {offsetof(tflite8_settings_t, direction), DIRECTION_BATCH},
        {offsetof(tflite8_settings_t, gns), 0},
        {offsetof(tflite8_settings_t, queries), 1},
    };
    return tflite8_check(settings, file, only, sizeof only / sizeof only[0]);
}

static training_t training(const settings_t *settings, const graph_file_t *file) {
    training_t found = tflite8_training(settings, file);
    found.passes = PASSES;
    return found;
}

const method_t spsa = {
    .format = FORMAT_TFLITE8,
    .settings = &tflite8_settings_table,
    .check = check,
    .training = training,
    .stand = stand,
    .demand = tflite8_demand_passes,
    .begin_pass = begin_pass,
    .take = take,
    .finish = finish,
    .trace = tflite8_trace,
};
