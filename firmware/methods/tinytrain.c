/* Ranking steps, the choice, and steps that train what was chosen: docs/arithmetic-tinytrain.md. */
#include "methods/tinytrain.h"

#include "kernels/gradients.h"

/* Until the choice no layer is updated. */
static bool ranks(const model_t *model) {
    return model->training.updated == 0;
}

/* Add the Fisher information of a sample. */
static void rank(const model_t *model, const sample_t *sample, uint8_t l, const int8_t *errors, int32_t x) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint8_t y = (uint8_t)(l + 1);
    float *fisher = (float *)(void *)model_buffer(model, TINYTRAIN_FISHER, l);
    add_fisher_s8(pass_value(model, &sample->clean, y), errors, (uint32_t)layer->out_h * layer->out_w,
                  graph_channels(layer), graph_zero(&model->file, y), x, fisher);
}

static void act(model_t *model, const sample_t *sample, uint8_t l, const int8_t *errors, int32_t x) {
    if (ranks(model)) {
        rank(model, sample, l, errors, x);
    } else if (in_set(model->training.updated, l)) {
        back_propagation_learn(model, sample, l, errors, x);
    }
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    tflite8_take_back(model, step, slot, act);
}

static int8_t finish(model_t *model, step_t *step) {
    const bool ranked = ranks(model);
    const int8_t sign = tflite8_finish(model, step);
    const uint32_t completed = step->step - model->settings.first_step + 1;
    if (ranked && completed == tflite8_settings(model)->ranking) {
        tinytrain_choose(model);
        stopwatch_book(&model->watch, &model->account.update);
    }
    return sign;
}

static training_t training(const settings_t *settings, const graph_file_t *file) {
    training_t of = tflite8_training(settings, file);
    of.updated = 0;
    return of;
}

static uint8_t check(const settings_t *settings, const graph_file_t *file) {
    const uint8_t refused = back_propagation_check(settings, file);
    if (refused != METHOD_TAKES_ALL) {
        return refused;
    }
    const training_t of = training(settings, file);
    const costs_t costs = {.settings = (const void *)settings, .file = file, .training = &of};
    if (tinytrain_candidates(&of) == 0) {
        return offsetof(tflite8_settings_t, blocks);
    }
    const uint64_t fitting = tinytrain_fitting(&costs);
    if (fitting == 0) {
        return offsetof(tflite8_settings_t, memory_budget);
    }
    return tinytrain_least_work(&costs, fitting) > tinytrain_most_work(&costs)
               ? offsetof(tflite8_settings_t, work_budget)
               : METHOD_TAKES_ALL;
}

const method_t tinytrain = {
    TFLITE8_METHOD,
    .check = check,
    .training = training,
    .stand = tinytrain_stand,
    .demand = back_propagation_demand,
    .begin = tinytrain_begin,
    .take = take,
    .finish = finish,
};
