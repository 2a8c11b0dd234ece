/* The layer-wise form: docs/arithmetic-zeroth-order.md, section 7. */
#include "methods/tflite8_step.h"

/* For every trained layer of the group that begins with `start`. */
static void for_group(model_t *model, step_t *step, const sample_t *sample, uint8_t start, layer_act_t *act) {
    for (uint8_t l = start; l <= group_last(&model->training, start); l++) {
        if (in_set(model->training.layers, l)) {
            act(model, step, sample, l);
        }
    }
}

/* A layer that is trained by nodes: its clean output is what they are perturbed in, and what gates their gradient. */
static void take_nodes(model_t *model, step_t *step, const sample_t *sample, uint8_t l, uint8_t next,
                       const layer_method_t *method) {
    pass_run(model, &sample->clean, l, (uint8_t)(l + 1));
    method->ask(model, step, sample, l);
    method->learn(model, step, sample, l);
    if (next < model->file.layers) {
        pass_run(model, &sample->clean, (uint8_t)(l + 1), next);
    }
}

/* A group whose weights are perturbed; then what the group of the next start reads, with the weights of the step, and
   only then the update. */
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
