#include "methods/elasticzo_int8.h"

#include <string.h>

#include "arith/random.h"
#include "kernels/limits.h"
#include "kernels/losses.h"
#include "kernels/move_s8.h"
#include "net/backward.h"
#include "net/forward.h"

enum { PLUS = 1, FROM_PLUS_TO_MINUS = -2, LARGEST_WEIGHT = 127 };

static noise_t noise_of_step(const settings_t *settings, uint32_t step) {
    return (noise_t){.p_zero = settings->p_zero, .r_max = settings->r_max, .state = pool_state(settings->seed, step)};
}

/* W, the largest magnitude of a weight at rest. */
static uint8_t limit_of(const settings_t *settings) {
    return settings->perturb == PERTURB_EXACT ? (uint8_t)(LARGEST_WEIGHT - settings->r_max) : LARGEST_WEIGHT;
}

/* Whatever the weights were before `configure`: every later step finds them limited by the end of the one before. */
static void limit_weights(const model_t *model, const settings_t *settings) {
    for (uint8_t l = 0; l < settings->partition; l++) {
        const graph_layer_t *layer = model_tensor(model, l);
        limit_s8(model_weights(model, layer), graph_weight_count(layer), limit_of(settings));
    }
}

/* A pass over the weights that zeroth order trains. */
static void move_weights(const model_t *model, const settings_t *settings, uint32_t step, const moves_t *moves) {
    for (uint8_t l = 0; l < settings->partition; l++) {
        const graph_layer_t *layer = model_tensor(model, l);
        move_s8(model_weights(model, layer), graph_weight_count(layer), tensor_state(settings->seed, step, l), moves);
    }
}

static void perturb(model_t *model, const settings_t *settings, uint32_t step, int32_t k) {
    moves_t moves = {.words = model_noise(model)};
    if (k == PLUS && settings->perturb == PERTURB_EXACT && step == settings->first_step) {
        limit_weights(model, settings);
    }
    moves_to_perturb(&moves, noise_of_step(settings, step), k, limit_of(settings));
    move_weights(model, settings, step, &moves);
    stopwatch_book(&model->watch, &model->account.perturb);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_PERTURB);
}

static void update_zeroth_order(model_t *model, const settings_t *settings, uint32_t step, int8_t sign) {
    moves_t moves = {.words = model_noise(model)};
    moves_to_update(&moves, noise_of_step(settings, step), sign, settings->b_zo, limit_of(settings));
    move_weights(model, settings, step, &moves);
}

static bool back_propagates(const model_t *model) {
    return model->first_bp < model->file.layers;
}

uint8_t elasticzo_int8_passes(const settings_t *settings) {
    return settings->partition > 0 ? 2 : 1;
}

/* Make the weights those of a pass; its first sample comes next. */
static void begin_pass(model_t *model, const settings_t *settings, elasticzo_step_t *step, uint8_t pass) {
    step->pass = pass;
    step->through = 0;
    if (pass == 0) {
        stretches_begin(&model->stretches, model->watch.booked);
    }
    if (pass == 0 && back_propagates(model)) {
        backward_begin(model);
        stopwatch_book(&model->watch, &model->account.backward[model->file.layers - 1]);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
    if (settings->partition > 0) {
        perturb(model, settings, step->step, pass == 0 ? PLUS : FROM_PLUS_TO_MINUS);
    }
}

/* Keep the logits of the plus pass, until those of the minus pass are there. */
static void keep_logits(const model_t *model, uint16_t sample, uint16_t member) {
    const uint32_t classes = model_classes(model);
    const int16_t exponent = (int16_t)model_logits_exponent(model);
    memcpy(model_s8(model, model->plan.plus_logits) + sample * classes, model_logits(model, member), classes);
    memcpy(model->arena + model->plan.plus_exponents + sample * sizeof exponent, &exponent, sizeof exponent);
}

static void add_integer_losses(const model_t *model, uint32_t fraction, elasticzo_step_t *step, uint16_t sample,
                               uint16_t member, uint8_t label) {
    const uint32_t classes = model_classes(model);
    int16_t exponent;
    memcpy(&exponent, model->arena + model->plan.plus_exponents + sample * sizeof exponent, sizeof exponent);
    const logits_t plus = {.values = model_s8(model, model->plan.plus_logits) + sample * classes, .exponent = exponent};
    const logits_t minus = {.values = model_logits(model, member), .exponent = model_logits_exponent(model)};
    const integer_loss_t loss = integer_loss_s8(plus, minus, classes, label, fraction);
    step->sum[0] = loss.plus;
    step->sum[1] = loss.minus;
    step->logs[0] += integer_loss_log2(loss.plus, fraction);
    step->logs[1] += integer_loss_log2(loss.minus, fraction);
}

static void add_loss(const model_t *model, const settings_t *settings, elasticzo_step_t *step, uint16_t member,
                     uint8_t label) {
    const uint16_t sample = (uint16_t)(step->through + member);
    if (settings->loss == LOSS_FLOAT) {
        step->loss[step->pass] =
            step->loss[step->pass] +
            cross_entropy_f32(model_logits(model, member), model_classes(model), model_logits_exponent(model), label);
    } else if (settings_keep_logits(settings) && step->pass == 0) {
        keep_logits(model, sample, member);
    } else if (settings_keep_logits(settings)) {
        add_integer_losses(model, settings->loss_fraction, step, sample, member, label);
    }
}

/* One group of samples, from a slot on. */
static void take_group(model_t *model, const settings_t *settings, elasticzo_step_t *step, uint16_t slot,
                       uint16_t count) {
    const int8_t *samples = model_sample(model, slot);
    const uint8_t *labels = model_labels(model) + slot;
    cycle_account_t *account = &model->account;
    forward(model, samples, count);
    for (uint16_t member = 0; member < count; member++) {
        add_loss(model, settings, step, member, labels[member]);
    }
    stopwatch_book(&model->watch, &account->forward[model->file.layers - 1]);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);
    if (step->pass + 1 == elasticzo_int8_passes(settings) && back_propagates(model)) {
        backward(model, samples, labels, count);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
    step->through = (uint16_t)(step->through + count);
}

void elasticzo_int8_part(model_t *model, const settings_t *settings, elasticzo_step_t *step, uint8_t pass,
                         uint16_t count) {
    const uint16_t group = settings->scope == SCOPE_BATCH ? count : 1;
    stopwatch_start(&model->watch);
    if (step->through == 0 || pass != step->pass) {
        step->samples = step->through; /* of the pass before */
        begin_pass(model, settings, step, pass);
    }
    for (uint16_t slot = 0; slot < count; slot = (uint16_t)(slot + group)) {
        take_group(model, settings, step, slot, group);
    }
}

/* L_plus and L_minus as they are reported; compares them. */
static int8_t compare(const settings_t *settings, const elasticzo_step_t *step, step_result_t *result) {
    if (settings->loss == LOSS_INTEGER) {
        const bool one = step->through == 1;
        const int32_t plus = one ? (int32_t)step->sum[0] : step->logs[0],
                      minus = one ? (int32_t)step->sum[1] : step->logs[1];
        result->loss_plus = (float)plus;
        result->loss_minus = (float)minus;
        return plus > minus ? 1 : plus < minus ? -1 : 0;
    }
    result->loss_plus = step->loss[0];
    result->loss_minus = step->loss[elasticzo_int8_passes(settings) - 1];
    return result->loss_plus > result->loss_minus ? 1 : result->loss_plus < result->loss_minus ? -1 : 0;
}

void elasticzo_int8_finish(model_t *model, const settings_t *settings, const elasticzo_step_t *step,
                           step_result_t *result) {
    stopwatch_start(&model->watch);
    result->step = step->step;
    result->sign = compare(settings, step, result);
    if (settings->partition > 0) {
        update_zeroth_order(model, settings, step->step, result->sign);
    }
    if (back_propagates(model)) {
        backward_update(model, settings->b_bp);
    }
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
}
