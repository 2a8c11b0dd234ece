#include "methods/elasticzo_int8.h"

#include <string.h>

#include "arith/random.h"
#include "engine/format.h"
#include "kernels/losses.h"

enum {
    PLUS = 1,
    FROM_PLUS_TO_MINUS = -2,
    LARGEST_WEIGHT = 127,
    LARGEST_EXACT = 63, /* docs/arithmetic.md, section 8: largest r_max of the exact form */
};

static noise_t noise_of_step(const elasticzo_settings_t *settings, uint32_t step) {
    return (noise_t){.p_zero = settings->p_zero, .r_max = settings->r_max, .state = pool_state(settings->seed, step)};
}

/* W, the largest magnitude of a weight at rest. */
static uint8_t limit_of(const elasticzo_settings_t *settings) {
    return settings->perturb == PERTURB_EXACT ? (uint8_t)(LARGEST_WEIGHT - settings->r_max) : LARGEST_WEIGHT;
}

static const chain_training_t *chain_of(const model_t *model) {
    return model_format(model, 0)->chain;
}

static uint32_t weights_in(const model_t *model, trained_tensor_t tensor) {
    return graph_weight_count(graph_layer(&model->file, tensor.layer));
}

/* Weights may be anything before `configure`, a schedule may change the limit, and they may be written from outside.
   Every other step begins with weights that the last update has limited. */
static void limit_weights(model_t *model, const elasticzo_settings_t *settings) {
    const bool holds_less = settings->perturb == PERTURB_EXACT;
    for (uint8_t i = 0; holds_less && !model->limited && i < settings->partition; i++) {
        const trained_tensor_t tensor = model_tensor(model, i);
        chain_of(model)->limit((int8_t *)tensor.bytes, weights_in(model, tensor), limit_of(settings));
    }
    model->limited = true;
}

/* Move the weights that zeroth order trains. */
static void move_weights(const model_t *model, const elasticzo_settings_t *settings, uint32_t step,
                         const moves_t *moves) {
    for (uint8_t i = 0; i < settings->partition; i++) {
        const trained_tensor_t tensor = model_tensor(model, i);
        const uint32_t state = tensor_state(settings->seed, step, i);
        chain_of(model)->move((int8_t *)tensor.bytes, weights_in(model, tensor), state, moves);
    }
}

static void perturb(model_t *model, uint32_t step, int32_t k) {
    const elasticzo_settings_t *settings = elasticzo_settings(model);
    moves_t moves = {.words = (uint32_t *)model_s32(model, model->plan.at[ELASTICZO_NOISE])};
    if (k == PLUS) {
        limit_weights(model, settings);
    }
    chain_of(model)->to_perturb(&moves, noise_of_step(settings, step), k, limit_of(settings));
    move_weights(model, settings, step, &moves);
    stopwatch_book(&model->watch, &model->account.perturb);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_PERTURB);
}

static void update_zeroth_order(model_t *model, const elasticzo_settings_t *settings, uint32_t step, int8_t sign) {
    moves_t moves = {.words = (uint32_t *)model_s32(model, model->plan.at[ELASTICZO_NOISE])};
    chain_of(model)->to_update(&moves, noise_of_step(settings, step), sign, settings->b_zo, limit_of(settings));
    move_weights(model, settings, step, &moves);
}

static bool back_propagates(const model_t *model) {
    return model->training.first_backward < model->file.layers;
}

/* Make the weights those of the pass. */
static void begin_pass(model_t *model, step_t *step) {
    if (step->pass == 0) {
        stretches_begin(&model->stretches, model->watch.booked);
    }
    if (step->pass == 0 && back_propagates(model)) {
        chain_of(model)->backward_begin(model);
        stopwatch_book(&model->watch, &model->account.backward[model->file.layers - 1]);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
    if (elasticzo_settings(model)->partition > 0) {
        perturb(model, step->step, step->pass == 0 ? PLUS : FROM_PLUS_TO_MINUS);
    }
}

/* Keep the logits of the plus pass for the comparison with those of the minus pass. */
static void keep_logits(const model_t *model, uint16_t sample, uint16_t member) {
    const uint32_t classes = model_classes(model);
    const int16_t exponent = model_logits_exponent(model);
    memcpy(model_s8(model, model->plan.at[ELASTICZO_LOGITS]) + sample * classes, model_logits(model, member), classes);
    memcpy(model->arena + model->plan.at[ELASTICZO_EXPONENTS] + sample * sizeof exponent, &exponent, sizeof exponent);
}

static void add_integer_losses(const model_t *model, uint32_t fraction, step_t *step, uint16_t sample, uint16_t member,
                               uint8_t label) {
    const uint32_t classes = model_classes(model);
    int16_t exponent;
    memcpy(&exponent, model->arena + model->plan.at[ELASTICZO_EXPONENTS] + sample * sizeof exponent, sizeof exponent);
    const logits_t plus = {.values = model_s8(model, model->plan.at[ELASTICZO_LOGITS]) + sample * classes,
                           .exponent = exponent};
    const logits_t minus = {.values = model_logits(model, member), .exponent = model_logits_exponent(model)};
    const integer_loss_t loss = integer_loss_s8(plus, minus, classes, label, fraction);
    step->sum[0] = loss.plus;
    step->sum[1] = loss.minus;
    step->logs[0] += integer_loss_log2(loss.plus, fraction);
    step->logs[1] += integer_loss_log2(loss.minus, fraction);
}

static void add_loss(const model_t *model, step_t *step, uint16_t member, uint8_t label) {
    const elasticzo_settings_t *settings = elasticzo_settings(model);
    const uint16_t sample = (uint16_t)(step->through + member);
    if (settings->loss == LOSS_FLOAT) {
        step->loss[step->pass] =
            step->loss[step->pass] + model_format(model, 0)->loss(model, model_logits(model, member), label);
    } else if (elasticzo_keeps_logits(settings) && step->pass == 0) {
        keep_logits(model, sample, member);
    } else if (elasticzo_keeps_logits(settings)) {
        add_integer_losses(model, settings->loss_fraction, step, sample, member, label);
    }
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    const pass_t pass = {.sample = model_sample(model, slot), .count = step->group};
    const uint8_t *labels = model->arena + model->plan.at[PLAN_LABELS] + slot;
    pass_run_all(model, &pass);
    for (uint16_t member = 0; member < step->group; member++) {
        add_loss(model, step, member, labels[member]);
    }
    stopwatch_book(&model->watch, &model->account.forward[model->file.layers - 1]);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);
    if (step->pass + 1 == model->training.passes && back_propagates(model)) {
        const bool zero_sum = elasticzo_settings(model)->logit_error == LOGIT_ERROR_ZERO_SUM;
        chain_of(model)->backward(model, &pass, labels, step->through == 0, zero_sum);
        stretches_mark(&model->stretches, model->watch.booked, PHASE_BACKWARD);
    }
}

/* L_plus and L_minus as they are reported; compares them. */
static int8_t compare(const model_t *model, step_t *step) {
    if (elasticzo_settings(model)->loss == LOSS_INTEGER) {
        const bool one = step->through == 1;
        const int32_t plus = one ? (int32_t)step->sum[0] : step->logs[0],
                      minus = one ? (int32_t)step->sum[1] : step->logs[1];
        step->loss[0] = (float)plus;
        step->loss[1] = (float)minus;
        return plus > minus ? 1 : plus < minus ? -1 : 0;
    }
    if (model->training.passes == 1) {
        step->loss[1] = step->loss[0];
    }
    return step->loss[0] > step->loss[1] ? 1 : step->loss[0] < step->loss[1] ? -1 : 0;
}

static int8_t finish(model_t *model, step_t *step) {
    const elasticzo_settings_t *settings = elasticzo_settings(model);
    stopwatch_start(&model->watch);
    const int8_t sign = compare(model, step);
    if (settings->partition > 0) {
        update_zeroth_order(model, settings, step->step, sign);
    }
    if (back_propagates(model)) {
        chain_of(model)->update(model, settings->b_bp);
    }
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
    return sign;
}

/* Forward, and backward where back-propagation trains; nothing is updated. */
static void trace(model_t *model, uint16_t first, uint16_t count) {
    const pass_t pass = {.sample = model_sample(model, first), .count = count};
    pass_run_all(model, &pass);
    if (back_propagates(model)) {
        const bool zero_sum = elasticzo_settings(model)->logit_error == LOGIT_ERROR_ZERO_SUM;
        chain_of(model)->backward_begin(model);
        chain_of(model)->backward(model, &pass, model->arena + model->plan.at[PLAN_LABELS] + first, true, zero_sum);
    }
}

static uint8_t check(const settings_t *settings_of_all, const graph_file_t *file) {
    const elasticzo_settings_t *settings = (const void *)settings_of_all;
    if (settings->partition > graph_weighted(file)) {
        return offsetof(elasticzo_settings_t, partition);
    }
    if (settings->perturb == PERTURB_EXACT && settings->r_max > LARGEST_EXACT) {
        return offsetof(elasticzo_settings_t, perturb);
    }
    if (settings->loss == LOSS_INTEGER && graph_value_bytes(file, 0) > 1) {
        return offsetof(elasticzo_settings_t, loss); /* it is of logits in int8 */
    }
    if (settings->loss_fraction > 0 && settings->loss != LOSS_INTEGER) {
        return offsetof(elasticzo_settings_t, loss_fraction);
    }
    const bool whole = settings->scope == SCOPE_SAMPLE || settings->slots == settings->batch;
    return whole ? METHOD_TAKES_ALL : offsetof(elasticzo_settings_t, slots);
}

static training_t training(const settings_t *settings_of_all, const graph_file_t *file) {
    const elasticzo_settings_t *settings = (const void *)settings_of_all;
    return (training_t){.layers = graph_weighted_layers(file),
                        .reached = UINT64_MAX,
                        .starts = 1,
                        .weights = true,
                        .grouped = settings->scope == SCOPE_BATCH,
                        .passes = settings->partition > 0 ? 2 : 1,
                        .first_backward = graph_weighted_layer(file, settings->partition)};
}

const method_t elasticzo_int8 = {
    .settings = &elasticzo_settings_table,
    .check = check,
    .training = training,
    .demand = elasticzo_demand,
    .begin_pass = begin_pass,
    .take = take,
    .finish = finish,
    .trace = trace,
};
