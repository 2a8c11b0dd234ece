/* QZO-FF, sign-m-SPSA by forward passes: docs/arithmetic-qzo-ff.md, section 8. A step is two passes of all its samples
   for each direction; then its end. */
#include "methods/qzo_ff.h"

#include <string.h>

#include "engine/format.h"
#include "formats/w16a8.h"
#include "kernels/updates.h"
#include "methods/forward_passes.h"

enum { PLUS = 1, FROM_PLUS_TO_MINUS = -2, BACK = 1 };

/* The direction of the step that a pair of passes is for: that of the sharpness-aware perturbation comes first. */
static uint32_t direction_of(const qzo_ff_settings_t *settings, uint32_t pair) {
    if (!qzo_is_sharp(settings)) {
        return pair;
    }
    return pair == 0 ? settings->directions : pair - 1;
}

static void limit(const qzo_tensor_t *tensor) {
    if (tensor->weights != NULL) {
        limit_s16(tensor->weights, tensor->n, tensor->limit);
    } else {
        limit_s32(tensor->biases, tensor->n, tensor->limit);
    }
}

/* Whatever the weights were before: every later step finds them limited by the end of the one before. */
static void limit_trained(model_t *model) {
    const uint8_t tensors = model_tensors(model);
    for (uint8_t i = 0; !model->limited && i < tensors; i++) {
        const qzo_tensor_t tensor = qzo_tensor(model, i);
        limit(&tensor);
    }
    model->limited = true;
}

/* The losses of both passes of a pair are there: the sign of its direction. */
static int32_t compare(const model_t *model, step_t *step, uint32_t direction) {
    qzo_direction_t *of = qzo_direction(model, direction);
    of->sign = forward_sign(step);
    if (direction < qzo_settings(model)->directions) {
        forward_report(step);
    }
    return of->sign;
}

/* Between two pairs of passes: back from the one, with the weights then moved towards a larger loss if it was that of
   sharpness. */
static void end_pair(const model_t *model, step_t *step, uint32_t pair) {
    const uint32_t direction = direction_of(qzo_settings(model), pair);
    const int32_t sign = compare(model, step, direction);
    qzo_move(model, step->step, direction, BACK, direction == qzo_settings(model)->directions ? sign : 0);
}

/* Make the weights those of the pass. */
static void begin_pass(model_t *model, step_t *step) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    const uint32_t pair = step->pass / 2u;
    const bool plus = step->pass % 2 == 0;
    if (step->pass == 0) {
        stretches_begin(&model->stretches, model->watch.booked);
        limit_trained(model);
        if (step->step == settings->first_step) {
            qzo_select(model);
        }
    } else if (plus) {
        end_pair(model, step, pair - 1);
    }
    step->pair[!plus] = 0.0f;
    qzo_move(model, step->step, direction_of(settings, pair), plus ? PLUS : FROM_PLUS_TO_MINUS, 0);
    stopwatch_book(&model->watch, &model->account.perturb);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_PERTURB);
}

static int8_t finish(model_t *model, step_t *step) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    int32_t signs = 0;
    stopwatch_start(&model->watch);
    (void)compare(model, step, settings->directions - 1u);
    for (uint32_t i = 0; i < settings->directions; i++) {
        signs += qzo_direction(model, i)->sign;
    }
    if (qzo_is_sharp(settings)) {
        qzo_move(model, step->step, settings->directions, 0, -qzo_direction(model, settings->directions)->sign);
    }
    qzo_update(model, step->step);
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
    return (int8_t)((signs > 0) - (signs < 0));
}

/* No history, no moments; and the powers of the betas are those of no step. */
static void begin(model_t *model) {
    model->kept[0] = model->kept[1] = 1.0f;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (plan_at(&model->plan, QZO_GUIDE, l) != PLAN_NOWHERE) {
            memset(model_buffer(model, QZO_GUIDE, l), 0, (size_t)qzo_guide_bytes(model, l));
        }
        if (plan_at(&model->plan, QZO_MOMENTS, l) != PLAN_NOWHERE) {
            memset(model_buffer(model, QZO_MOMENTS, l), 0, (size_t)qzo_moments_bytes(model, l));
        }
    }
}

const method_t qzo_ff = {
    .format = FORMAT_W16A8,
    .settings = &qzo_ff_settings_table,
    .check = qzo_check,
    .training = qzo_training,
    .stand = qzo_stand,
    .demand = qzo_demand,
    .begin = begin,
    .begin_pass = begin_pass,
    .take = forward_take,
    .finish = finish,
    .trace = forward_trace,
};
