/* QuZO, zeroth order with stochastic rounding: docs/arithmetic-quzo.md, section 4. A step is two passes of all its
   samples for each direction; then its end. */
#include "methods/quzo.h"

#include "arith/float32.h"
#include "formats/w16a8.h"
#include "methods/forward_passes.h"

enum { PLUS = 1, FROM_PLUS_TO_MINUS = -2, BACK = 1 };

#define HELD 0x1p14f
#define FACTOR_STEPS 65536.0f

/* C of the direction whose two passes are through. */
static int32_t factor_of(const model_t *model, const step_t *step) {
    const quzo_settings_t *settings = quzo_settings(model);
    const float losses = (float)(2u * step->samples * settings->directions);
    const float difference = step->pair[0] - step->pair[1];
    const float product = settings->eta * difference;
    const float mean = product / losses;
    const float slope = mean / settings->epsilon;
    const float x = slope / settings->epsilon;
    const float least = x > HELD ? HELD : x, held = least < -HELD ? -HELD : least;
    return float32_to_integer(held * FACTOR_STEPS);
}

static void end_pair(const model_t *model, step_t *step, uint32_t direction) {
    quzo_factors(model)[direction] = factor_of(model, step);
    step->signs = (int8_t)(step->signs + forward_sign(step));
    forward_report(step);
}

/* Make the weights those of the pass. */
static void begin_pass(model_t *model, step_t *step) {
    const uint32_t direction = step->pass / 2u;
    const bool plus = step->pass % 2 == 0;
    if (step->pass == 0) {
        stretches_begin(&model->stretches, model->watch.booked);
        if (!model->limited) {
            quzo_limit(model);
            model->limited = true;
        }
    } else if (plus) {
        end_pair(model, step, direction - 1);
        quzo_move(model, step->step, direction - 1, BACK);
    }
    step->pair[!plus] = 0.0f;
    quzo_move(model, step->step, direction, plus ? PLUS : FROM_PLUS_TO_MINUS);
    stopwatch_book(&model->watch, &model->account.perturb);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_PERTURB);
}

static int8_t finish(model_t *model, step_t *step) {
    stopwatch_start(&model->watch);
    end_pair(model, step, quzo_settings(model)->directions - 1u);
    quzo_update(model, step->step);
    stopwatch_book(&model->watch, &model->account.update);
    stretches_mark(&model->stretches, model->watch.booked, PHASE_UPDATE);
    return (int8_t)((step->signs > 0) - (step->signs < 0));
}

static void stand(plan_t *plan, const model_t *model) {
    forward_stand(plan, model);
    plan_stand(plan, QUZO_DIRECTIONS, sizeof(int32_t) * (uint64_t)quzo_settings(model)->directions);
}

static void demand(placing_t *placing, const model_t *model, start_t start) {
    forward_demand(placing, model, start, QUZO_NOISE, FORWARD_POOL_BYTES);
}

const method_t quzo = {
    .format = FORMAT_W16A8,
    .formats = 1u << FORMAT_TFLITE8,
    .settings = &quzo_settings_table,
    .check = quzo_check,
    .training = quzo_training,
    .stand = stand,
    .demand = demand,
    .begin_pass = begin_pass,
    .take = forward_take,
    .finish = finish,
    .trace = forward_trace,
};
