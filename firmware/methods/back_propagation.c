/* INT8 back-propagation with straight-through gradients on tflite8: docs/arithmetic-tflite.md. */
#include "methods/tflite8_methods.h"

void back_propagation_demand(placing_t *placing, const model_t *model, start_t start) {
    tflite8_demand_passes(placing, model, start);
    tflite8_demand_backward(placing, model);
}

uint8_t back_propagation_check(const settings_t *settings, const graph_file_t *file) {
    static const tflite8_only_t only[] = {{offsetof(tflite8_settings_t, direction), DIRECTION_SAMPLE}};
    const uint8_t refused = tflite8_check(settings, file, only, sizeof only / sizeof only[0]);
    if (refused != METHOD_TAKES_ALL) {
        return refused;
    }
    const training_t training = tflite8_training(settings, file);
    return layers_pass_errors(file, &training) ? METHOD_TAKES_ALL : offsetof(tflite8_settings_t, method);
}

void back_propagation_learn(model_t *model, const sample_t *sample, uint8_t l, const int8_t *errors, int32_t x) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    model->macs += (uint64_t)tflite8_kept(model, l).weights * layer->out_h * layer->out_w;
    error_gradient(model, sample, l, errors, x);
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    tflite8_take_back(model, step, slot, back_propagation_learn);
}

const method_t back_propagation = {
    TFLITE8_METHOD,         .check = back_propagation_check,   .training = tflite8_training,
    .stand = tflite8_stand, .demand = back_propagation_demand, .begin = tflite8_clear_velocities,
    .take = take,           .finish = tflite8_finish,
};
