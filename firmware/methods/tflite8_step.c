/* What the methods that train tflite8 share of a step: docs/arithmetic-zeroth-order.md, section 7. */
#include "methods/tflite8_methods.h"

float query_loss(model_t *model, step_t *step, const pass_t *pass, const sample_t *sample, uint8_t from) {
    pass_run(model, pass, from, model->file.layers);
    const float loss = pass_loss(model, pass, sample->label);
    step->loss[1] = step->loss[1] + loss;
    return loss;
}

sample_t tflite8_take_sample(model_t *model, step_t *step, uint16_t slot) {
    sample_t sample = {.clean = {.sample = model_sample(model, slot), .count = 1},
                       .number = step->through,
                       .label = model_label(model, slot)};
    pass_run_all(model, &sample.clean);
    sample.loss = pass_loss(model, &sample.clean, sample.label);
    step->loss[0] = step->loss[0] + sample.loss;
    return sample;
}

/* For every trained layer of the group that begins with `start`. */
static void for_group(model_t *model, step_t *step, const sample_t *sample, uint8_t start, layer_act_t *act) {
    for (uint8_t l = start; l <= group_last(&model->training, start); l++) {
        if (in_set(model->training.layers, l)) {
            act(model, step, sample, l);
        }
    }
}

/* A layer that is trained by nodes: its clean output is perturbed, and gates the gradient. */
static void take_nodes(model_t *model, step_t *step, const sample_t *sample, uint8_t l, uint8_t next,
                       const layer_method_t *method) {
    pass_run(model, &sample->clean, l, (uint8_t)(l + 1));
    method->ask(model, step, sample, l);
    method->learn(model, step, sample, l);
    if (next < model->file.layers) {
        pass_run(model, &sample->clean, (uint8_t)(l + 1), next);
    }
}

/* A group whose weights are perturbed: its queries, then the values that the group of the next start reads, with the
   weights of the step, and only then the update. */
static void take_weights(model_t *model, step_t *step, const sample_t *sample, uint8_t start, uint8_t next,
                         const layer_method_t *method) {
    for_group(model, step, sample, start, method->ask);
    if (next < model->file.layers) {
        pass_run(model, &sample->clean, start, next);
    }
    for_group(model, step, sample, start, method->learn);
}

void layer_wise_sample(model_t *model, step_t *step, uint16_t slot, const layer_method_t *method) {
    const sample_t sample = tflite8_take_sample(model, step, slot);
    for (uint8_t l = start_from(&model->training, 0, model->file.layers), next; l < model->file.layers; l = next) {
        next = start_from(&model->training, (uint8_t)(l + 1), model->file.layers);
        if (in_set(model->training.nodes, l)) {
            take_nodes(model, step, &sample, l, next, method);
        } else {
            take_weights(model, step, &sample, l, next, method);
        }
        if (next < model->file.layers) {
            pass_enter(model, next);
        }
    }
}

void tflite8_begin_pass(model_t *model, step_t *step) {
    (void)step;
    if (!model->limited) {
        tflite8_limit_trained(model);
        model->limited = true;
    }
}

/* The update, where the step had several samples. */
int8_t tflite8_finish(model_t *model, step_t *step) {
    stopwatch_start(&model->watch);
    if (model->settings.batch > 1) {
        gradient_update_summed(model, step->through);
        stopwatch_book(&model->watch, &model->account.update);
    }
    return 0;
}

void tflite8_trace(model_t *model, uint16_t first, uint16_t count) {
    const pass_t pass = {.sample = model_sample(model, first), .count = count};
    pass_run_all(model, &pass);
}
