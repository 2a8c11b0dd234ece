/* The layer-wise form: docs/arithmetic-zeroth-order.md, section 7. */
#include "methods/graph_step.h"

sample_t graph_take_sample(graph_model_t *model, graph_step_t *step, uint16_t slot) {
    sample_t sample = {
        .clean = {.sample = graph_sample(model, slot)}, .number = step->through, .label = graph_labels(model)[slot]};
    graph_run_all(model, &sample.clean);
    sample.loss = graph_loss(model, &sample.clean, sample.label);
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

/* For every trained layer of the group that begins with `start`. */
static void for_group(graph_model_t *model, graph_step_t *step, const sample_t *sample, uint8_t start,
                      layer_act_t *act) {
    for (uint8_t l = start; l <= group_last(&model->training, start); l++) {
        if (in_set(model->training.layers, l)) {
            act(model, step, sample, l);
        }
    }
}

/* A layer that is trained by nodes: its clean output is what they are perturbed in, and what gates their gradient. */
static void take_nodes(graph_model_t *model, graph_step_t *step, const sample_t *sample, uint8_t l, uint8_t next,
                       const layer_method_t *method) {
    graph_run(model, &sample->clean, l, (uint8_t)(l + 1));
    method->ask(model, step, sample, l);
    method->learn(model, step, sample, l);
    if (next < model->file.layers) {
        graph_run(model, &sample->clean, (uint8_t)(l + 1), next);
    }
}

/* A group whose weights are perturbed; then what the group of the next start reads, with the weights of the step, and only then the
   update. */
static void take_weights(graph_model_t *model, graph_step_t *step, const sample_t *sample, uint8_t start, uint8_t next,
                         const layer_method_t *method) {
    for_group(model, step, sample, start, method->ask);
    if (next < model->file.layers) {
        graph_run(model, &sample->clean, start, next);
    }
    for_group(model, step, sample, start, method->learn);
}

void layer_wise_sample(graph_model_t *model, graph_step_t *step, uint16_t slot, const layer_method_t *method) {
    const sample_t sample = graph_take_sample(model, step, slot);
    for (uint8_t l = start_from(model, 0), next; l < model->file.layers; l = next) {
        next = start_from(model, (uint8_t)(group_last(&model->training, l) + 1));
        if (in_set(model->training.nodes, l)) {
            take_nodes(model, step, &sample, l, next, method);
        } else {
            take_weights(model, step, &sample, l, next, method);
        }
        if (next < model->file.layers) {
            graph_enter(model, next);
        }
    }
}
