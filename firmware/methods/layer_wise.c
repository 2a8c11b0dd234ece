/* The layer-wise form: docs/arithmetic-zeroth-order.md, section 7. */
#include "methods/graph_step.h"

sample_t graph_take_sample(graph_model_t *model, graph_step_t *step, uint16_t slot) {
    sample_t sample = {
        .clean = {.sample = graph_sample(model, slot)}, .number = step->through, .label = graph_labels(model)[slot]};
    sample.loss = loss_from(model, &sample.clean, &sample, 0);
    step->loss_plus = step->loss_plus + sample.loss;
    step->through++;
    return sample;
}

/* The first start from layer `l` on; the number of layers where there is none. */
static uint8_t start_from(const graph_model_t *model, uint8_t l) {
    while (l < model->file.layers && !is_start(&model->training, l)) {
        l++;
    }
    return l;
}

/* The trained layers of the group that begins with `start`; then what the group of the start behind it reads, with the weights of the step, and
   only then the update. The gradient of nodes asks for the values at hand, and its layer does not run again. */
static void take_group(graph_model_t *model, graph_step_t *step, const sample_t *sample, uint8_t start, const layer_method_t *method) {
    const graph_training_t *training = &model->training;
    const uint8_t end = (uint8_t)(group_last(training, start) + 1), next = start_from(model, end);
    const bool nodes = in_set(training->nodes, start), goes_on = next < model->file.layers;
    for (uint8_t l = start; l < end; l++) {
        if (in_set(training->layers, l)) {
            method->ask(model, step, sample, l);
        }
    }
    if (goes_on && !nodes) {
        graph_run(model, &sample->clean, start, next);
    }
    for (uint8_t l = start; l < end; l++) {
        if (in_set(training->layers, l)) {
            method->learn(model, step, sample, l);
        }
    }
    if (goes_on && nodes) {
        graph_run(model, &sample->clean, end, next);
    }
}

void layer_wise_sample(graph_model_t *model, graph_step_t *step, uint16_t slot, const layer_method_t *method) {
    const sample_t sample = graph_take_sample(model, step, slot);
    for (uint8_t l = start_from(model, 0); l < model->file.layers; l = start_from(model, (uint8_t)(l + 1))) {
        take_group(model, step, &sample, l, method);
    }
}
