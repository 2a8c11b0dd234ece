/* Perturbed scales, zeroth order on a gain of each output channel: docs/arithmetic-quzo.md, sections 7 to 10. The
   weights stay, in RAM or in flash; a pass has multipliers and shifts of its own. */
#include <stddef.h>

#include "arith/float32.h"
#include "formats/tflite8.h"
#include "methods/forward_passes.h"
#include "methods/settings.h"

enum { NOISE = PLAN_METHOD, LEAST_SHIFT = -29, MOST_SHIFT = 27 };

#define HELD 0x1p14f
#define FACTOR_STEPS 0x1p27f

static const perturbed_scales_settings_t *settings_of(const model_t *model) {
    return (const perturbed_scales_settings_t *)(const void *)&model->settings;
}

static training_t training(const settings_t *settings, const graph_file_t *file) {
    training_t training =
        forward_training(file, ((const perturbed_scales_settings_t *)(const void *)settings)->last_layers, 2);
    training.weights = false;
    training.gains = true;
    return training;
}

static bool shifts_fit(const graph_file_t *file, uint8_t l) {
    const graph_layer_t *layer = graph_layer(file, l);
    const int8_t *shift = graph_parameters(file, layer).shift;
    bool fit = true;
    for (uint32_t c = 0; c < graph_channels(layer); c++) {
        fit = fit && shift[c] >= LEAST_SHIFT && shift[c] <= MOST_SHIFT;
    }
    return fit;
}

/* A network ends with a fully connected layer, so there is something to train. */
static uint8_t check(const settings_t *settings, const graph_file_t *file) {
    const uint64_t layers = training(settings, file).layers;
    for (uint8_t l = 0; l < file->layers; l++) {
        if (in_set(layers, l) && !shifts_fit(file, l)) {
            return offsetof(perturbed_scales_settings_t, last_layers);
        }
    }
    return METHOD_TAKES_ALL;
}

/* E. */
static int32_t scale_of(const model_t *model) {
    return float32_to_integer(settings_of(model)->epsilon * (float)GAIN_STEPS);
}

/* What moves the gains of the trained tensor `index`. */
static gain_moves_t moves_of(const model_t *model, const int8_t (*pool)[4], uint32_t step, uint8_t index) {
    return (gain_moves_t){
        .pool = pool, .state = direction_state(model->settings.seed, step, 0, index), .scale = scale_of(model)};
}

static gains_t gains_of(const model_t *model, uint8_t index) {
    return tflite8_gains(model, model_tensor(model, index).layer);
}

static void limit(const model_t *model) {
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        const gains_t gains = gains_of(model, i);
        gains_limit(&gains, scale_of(model));
    }
}

/* Make the factors of g + k * E * z. */
static void perturb(const model_t *model, uint32_t step, int32_t k) {
    const int8_t (*pool)[4] = forward_pool(model, NOISE, step);
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        const gains_t gains = gains_of(model, i);
        const gain_moves_t moves = moves_of(model, pool, step, i);
        gains_make_moved(&gains, &moves, k);
    }
}

/* Update the gains, and make the factors of those at rest. */
static void update(const model_t *model, uint32_t step, int64_t factor) {
    const int8_t (*pool)[4] = forward_pool(model, NOISE, step);
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        const gains_t gains = gains_of(model, i);
        const gain_moves_t moves = moves_of(model, pool, step, i);
        gains_update(&gains, &moves, factor);
        gains_make(&gains);
    }
}

/* x held in -most..most. */
static float held(float x, float most) {
    const float least = x > most ? most : x;
    return least < -most ? -most : least;
}

/* C. */
static int64_t factor_of(const model_t *model, const step_t *step) {
    const perturbed_scales_settings_t *settings = settings_of(model);
    const float difference = step->pair[0] - step->pair[1];
    const float mean = difference / (float)(2u * step->samples);
    const float slope = mean / settings->epsilon;
    const float clipped = settings->clip > 0.0f ? held(slope, settings->clip) : slope;
    const float x = settings->eta * clipped;
    return float32_to_s64(held(x, HELD) * FACTOR_STEPS);
}

static void begin(model_t *model) {
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; i < tensors; i++) {
        const gains_t gains = gains_of(model, i);
        for (uint32_t c = 0; c < gains.n; c++) {
            gains.gain[c] = GAIN_ONE;
        }
        gains_make(&gains);
    }
}

static void begin_pass(model_t *model, step_t *step) {
    if (step->pass == 0) {
        stretches_begin(&model->stretches, model->watch.booked);
        if (!model->limited) {
            limit(model);
            model->limited = true;
        }
    }
    perturb(model, step->step, step->pass == 0 ? 1 : -1);
    stopwatch_book(&model->watch, &model->account.perturb);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_PERTURB);
}

static int8_t finish(model_t *model, step_t *step) {
    stopwatch_start(&model->watch);
    update(model, step->step, factor_of(model, step));
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
    forward_report(step);
    return (int8_t)forward_sign(step);
}

static void stand(plan_t *plan, const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (model_has_gains(model, l)) {
            plan_stand(plan, plan_place(PLAN_GAINS, l), tflite8_gain_bytes(graph_layer(&model->file, l)));
        }
    }
    forward_stand(plan, model);
}

static void demand(placing_t *placing, const model_t *model, start_t start) {
    forward_demand(placing, model, start, NOISE, FORWARD_POOL_BYTES);
}

const method_t perturbed_scales = {
    .format = FORMAT_TFLITE8,
    .settings = &perturbed_scales_settings_table,
    .check = check,
    .training = training,
    .stand = stand,
    .demand = demand,
    .begin = begin,
    .begin_pass = begin_pass,
    .take = forward_take,
    .finish = finish,
    .trace = forward_trace,
};
