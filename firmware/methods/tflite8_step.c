/* What the methods that train tflite8 share of a step: docs/arithmetic-zeroth-order.md, section 7. */
#include "methods/tflite8_step.h"

#include "methods/tflite8_gradient.h"

sample_t tflite8_take_sample(model_t *model, step_t *step, uint16_t slot) {
    const uint16_t *labels = (const uint16_t *)(const void *)(model->arena + model->plan.at[PLAN_LABELS]);
    sample_t sample = {
        .clean = {.sample = model_sample(model, slot), .count = 1}, .number = step->through, .label = labels[slot]};
    pass_run_all(model, &sample.clean);
    sample.loss = pass_loss(model, &sample.clean, sample.label);
    step->loss[0] = step->loss[0] + sample.loss;
    step->through++;
    return sample;
}

void tflite8_take(model_t *model, step_t *step, uint16_t count,
                  void (*sample)(model_t *model, step_t *step, uint16_t slot)) {
    stopwatch_start(&model->watch);
    if (!model->limited) {
        tflite8_limit_trained(model);
        model->limited = true;
    }
    for (uint16_t slot = 0; slot < count; slot++) {
        sample(model, step, slot);
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
