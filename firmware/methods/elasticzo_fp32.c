#include "methods/elasticzo_fp32.h"

#include "arith/random.h"
#include "formats/float32.h"
#include "kernels/layers_f32.h"
#include "kernels/updates_f32.h"
#include "methods/reach.h"

enum { TENSORS_OF_LAYER = 2 /* weights and biases */ };

static bool back_propagates(const model_t *model) {
    return model->training.first_backward < model->file.layers;
}

/* Move the tensors that zeroth order trains. */
static void move(const model_t *model, uint32_t step, float c) {
    const elasticzo_fp32_settings_t *settings = elasticzo_fp32_settings(model);
    for (uint8_t i = 0; i < TENSORS_OF_LAYER * settings->partition; i++) {
        const trained_tensor_t tensor = model_tensor(model, i);
        move_f32((float *)(void *)tensor.bytes, tensor.size / (uint32_t)sizeof(float),
                 tensor_state(settings->seed, step, i), c);
    }
}

/* Make the weights those of the pass. */
static void begin_pass(model_t *model, step_t *step) {
    const elasticzo_fp32_settings_t *settings = elasticzo_fp32_settings(model);
    const bool plus = step->pass == 0;
    if (plus) {
        stretches_begin(&model->stretches, model->watch.booked);
    }
    if (plus && back_propagates(model)) {
        elasticzo_fp32_clear_gradients(model);
        stopwatch_book(&model->watch, &model->account.backward[model->file.layers - 1]);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
    if (settings->partition > 0) {
        move(model, step->step, plus ? settings->epsilon : -2.0f * settings->epsilon);
        stopwatch_book(&model->watch, &model->account.perturb);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_PERTURB);
    }
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    const pass_t pass = {.sample = model_sample(model, slot), .count = 1};
    pass_run_all(model, &pass);
    step->loss[step->pass] = step->loss[step->pass] + pass_loss(model, &pass, model_label(model, slot));
    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);
    if (step->pass + 1 == model->training.passes && back_propagates(model)) {
        elasticzo_fp32_backward(model, &pass, model_label(model, slot));
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
}

/* g, and the move that restores the weights and updates them: section 7, lines 5 and 6. */
static void update_zeroth_order(const model_t *model, const step_t *step) {
    const elasticzo_fp32_settings_t *settings = elasticzo_fp32_settings(model);
    const float span = (float)step->through * (2.0f * settings->epsilon);
    const float quotient = (step->loss[0] - step->loss[1]) / span;
    const float change = settings->eta * clamp_f32(quotient, -settings->g_clip, settings->g_clip);
    move(model, step->step, settings->epsilon - change);
}

static void update_back_propagated(const model_t *model, const step_t *step) {
    const float rate = elasticzo_fp32_settings(model)->eta / (float)step->through;
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        if (elasticzo_fp32_has_gradient(model, l)) {
            const graph_layer_t *layer = graph_layer(&model->file, l);
            const float *gradient = float32_buffer(model, PLAN_GRADIENT, l);
            const uint32_t weights = graph_weight_count(layer);
            update_f32(gradient, weights, rate, float32_weights(model, l));
            update_f32(gradient + weights, graph_channels(layer), rate, float32_biases(model, l));
        }
    }
}

static int8_t finish(model_t *model, step_t *step) {
    stopwatch_start(&model->watch);
    if (model->training.passes == 1) {
        step->loss[1] = step->loss[0];
    }
    if (elasticzo_fp32_settings(model)->partition > 0) {
        update_zeroth_order(model, step);
    }
    if (back_propagates(model)) {
        update_back_propagated(model, step);
    }
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
    return step->loss[0] > step->loss[1] ? 1 : step->loss[0] < step->loss[1] ? -1 : 0;
}

/* Forward, and backward where back-propagation trains; nothing is updated. */
static void trace(model_t *model, uint16_t first, uint16_t count) {
    const pass_t pass = {.sample = model_sample(model, first), .count = count};
    pass_run_all(model, &pass);
    if (back_propagates(model)) {
        elasticzo_fp32_clear_gradients(model);
        elasticzo_fp32_backward(model, &pass, model_label(model, first));
    }
}

static training_t training_of(const settings_t *settings_of_all, const graph_file_t *file) {
    const elasticzo_fp32_settings_t *settings = (const void *)settings_of_all;
    training_t training = {.layers = graph_weighted_layers(file),
                           .starts = 1,
                           .weights = true,
                           .biases = true,
                           .passes = settings->partition > 0 ? 2 : 1,
                           .first_backward = graph_weighted_layer(file, settings->partition)};
    training.reached = training.first_backward < file->layers ? reached_layers(file, &training) : UINT64_MAX;
    return training;
}

static uint8_t check(const settings_t *settings_of_all, const graph_file_t *file) {
    const elasticzo_fp32_settings_t *settings = (const void *)settings_of_all;
    const training_t training = training_of(settings_of_all, file);
    const bool possible = settings->partition <= graph_weighted(file) && layers_pass_errors(file, &training);
    return possible ? METHOD_TAKES_ALL : offsetof(elasticzo_fp32_settings_t, partition);
}

const method_t elasticzo_fp32 = {
    .format = FORMAT_FLOAT32,
    .in_ram = true,
    .settings = &elasticzo_fp32_settings_table,
    .check = check,
    .training = training_of,
    .stand = elasticzo_fp32_stand,
    .demand = elasticzo_fp32_demand,
    .begin_pass = begin_pass,
    .take = take,
    .finish = finish,
    .trace = trace,
};
