/* FQT, fully quantized training with dynamic sparse updates: docs/arithmetic-fqt.md. */
#include "methods/fqt.h"

#include <string.h>

#include "kernels/affine8_elementwise.h"

/* The gradients of a channel become +0 when a sample first keeps it. */
static void forget_kept(const model_t *model) {
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        if (fqt_is_trained(model, l)) {
            memset(model_buffer(model, FQT_KEPT, l), 0, (graph_layer(&model->file, l)->out_c + 7u) / 8u);
        }
    }
}

static void clear_observed(const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        fqt_observed(model, l)[0] = INT8_MAX;
        fqt_observed(model, l)[1] = INT8_MIN;
    }
}

static void begin_pass(model_t *model, step_t *step) {
    (void)step;
    stretches_begin(&model->stretches, model->watch.booked);
    forget_kept(model);
    clear_observed(model);
    stopwatch_book(&model->watch, &model->account.backward[model->file.layers - 1]);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
}

/* Each value is observed while it is there. */
static void run_and_observe(model_t *model, const pass_t *pass) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        pass_run(model, pass, l, (uint8_t)(l + 1));
        if (fqt_is_observed(model, l)) {
            affine8_observe(pass_value(model, pass, (uint8_t)(l + 1)), graph_outputs(graph_layer(&model->file, l)),
                            fqt_observed(model, l));
            stopwatch_book(&model->watch, &model->account.forward[l]);
        }
    }
}

static float with_loss(const model_t *model, float loss) {
    const float largest = model->kept[FQT_LARGEST_LOSS];
    return loss > largest ? loss : largest;
}

/* After a failure there are no more errors and gradients. */
static void take(model_t *model, step_t *step, uint16_t slot) {
    const pass_t pass = {.sample = model_sample(model, slot), .count = 1};
    fqt_sample_t sample = {.model = model, .pass = &pass, .label = model_label(model, slot), .learns = true};
    run_and_observe(model, &pass);
    const float loss = pass_loss(model, &pass, sample.label);
    step->loss[0] = step->loss[0] + loss;
    model->kept[FQT_LARGEST_LOSS] = with_loss(model, loss);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);
    if (step->failure.code == 0) {
        sample.share = fqt_share(fqt_settings(model), loss, model->kept[FQT_LARGEST_LOSS]);
        step->failure = fqt_backward(&sample);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
}

static int8_t finish(model_t *model, step_t *step) {
    stopwatch_start(&model->watch);
    if (step->failure.code == 0) {
        step->failure = fqt_update(model, step->through);
    }
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
    return 0;
}

/* No statistics, no ranges of errors, no losses, no velocities. */
static void begin(model_t *model) {
    const fqt_settings_t *settings = fqt_settings(model);
    const uint8_t n = model->file.layers;
    model->kept[FQT_LARGEST_LOSS] = 0.0f;
    fqt_optimizer_begin(model);
    if (settings->error_range == ERROR_RANGE_RUNNING) {
        memset(model_s8(model, model->plan.at[FQT_ERROR_RANGES]), 0, 2u * n * sizeof(affine8_running_t));
    }
    for (uint8_t l = 0; l < n; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (fqt_has_statistics(settings) && fqt_is_trained(model, l)) {
            memset(fqt_statistics(model, l), 0, layer->out_c * sizeof(fqt_statistics_t));
        }
        if (layer->op == OP_HARD_SWISH) {
            affine8_refresh(model, l);
        }
    }
}

/* Nothing is learnt: errors have the ranges of the sample, and all channels are kept. */
static void trace(model_t *model, uint16_t first, uint16_t count) {
    const pass_t pass = {.sample = model_sample(model, first), .count = count};
    const fqt_sample_t sample = {.model = model, .pass = &pass, .label = model_label(model, first), .share = 1.0f};
    pass_run_all(model, &pass);
    (void)fqt_backward(&sample);
}

const method_t fqt = {
    .formats = 1u << FORMAT_TFLITE8 | 1u << FORMAT_AFFINE8 | 1u << FORMAT_FLOAT32,
    .settings = &fqt_settings_table,
    .check = fqt_check,
    .training = fqt_training,
    .stand = fqt_stand,
    .demand = fqt_demand,
    .begin = begin,
    .begin_pass = begin_pass,
    .take = take,
    .finish = finish,
    .trace = trace,
};
