/* The part of the engine that trains: parts of a step, steps, runs of steps. */
#include <stddef.h>

#include "engine/engine.h"

static failure_t check_step(const engine_t *engine, uint32_t step) {
    RETURN_IF_REFUSED(engine_check_configured(engine));
    const uint32_t next = engine->under_way.step;
    return step == next ? no_failure() : refusal(FAILURE_OUT_OF_ORDER, step, next);
}

/* The samples that the pass of a part may have; `turns`: the part begins the next pass. */
static uint32_t most_of_pass(const engine_t *engine, bool turns) {
    const step_t *under_way = &engine->under_way;
    if (turns) {
        return under_way->through;
    }
    if (engine->model.training.grouped && under_way->through > 0) {
        return under_way->through; /* its group, which has to be whole, has been through */
    }
    return under_way->pass > 0 ? under_way->samples : engine->model.settings.batch;
}

/* A part must continue the pass that is running, or begin the next one. */
static failure_t check_place(const engine_t *engine, uint8_t pass, uint16_t first, uint16_t count) {
    const step_t *under_way = &engine->under_way;
    const uint16_t passes = engine->model.training.passes;
    const bool turns = pass == under_way->pass + 1;
    if (pass >= passes) {
        return refusal(FAILURE_BAD_SLOT, pass, passes);
    }
    if (turns && under_way->through == 0) {
        return refusal(FAILURE_PARTS_MISSING, 0, engine->model.settings.batch);
    }
    if (turns && under_way->pass > 0 && under_way->through < under_way->samples) {
        return refusal(FAILURE_PARTS_MISSING, under_way->through, under_way->samples);
    }
    if (pass != under_way->pass && !turns) {
        return refusal(FAILURE_OUT_OF_ORDER, pass, under_way->pass);
    }
    const uint32_t expected = turns ? 0 : under_way->through;
    const uint32_t most = most_of_pass(engine, turns);
    if (first != expected) {
        return refusal(FAILURE_OUT_OF_ORDER, first, expected);
    }
    return (uint32_t)first + count > most ? refusal(FAILURE_BAD_SLOT, (uint32_t)first + count, most) : no_failure();
}

static void begin_account(model_t *model) {
    model->account = (cycle_account_t){.perturb = 0};
    model->macs = model->layer_runs = 0;
    model->watch.bookings = 0;
}

/* The samples in slots 0..count-1: the next of a pass, or the first of the next pass. */
static void take(engine_t *engine, uint8_t pass, uint16_t count) {
    model_t *model = &engine->model;
    step_t *step = &engine->under_way;
    stopwatch_start(&model->watch);
    if (step->through == 0 || pass != step->pass) {
        step->samples = step->through; /* of the pass before */
        step->pass = pass;
        step->through = 0;
        model->method->begin_pass(model, step);
    }
    step->group = model->training.grouped ? count : 1;
    for (uint16_t slot = 0; slot < count; slot = (uint16_t)(slot + step->group)) {
        model->method->take(model, step, slot);
        step->through = (uint16_t)(step->through + step->group);
    }
    stopwatch_stop(&model->watch);
}

/* All passes of a step whose samples are in slots 0..count-1. */
static void take_all(engine_t *engine, uint16_t count) {
    for (uint16_t pass = 0; pass < engine->model.training.passes; pass++) {
        take(engine, (uint8_t)pass, count);
    }
}

failure_t engine_part(engine_t *engine, uint32_t step, uint8_t pass, uint16_t first, uint16_t count) {
    RETURN_IF_REFUSED(check_step(engine, step));
    RETURN_IF_REFUSED(slots_check(engine, count));
    RETURN_IF_REFUSED(check_place(engine, pass, first, count));
    if (engine->under_way.through == 0) {
        begin_account(&engine->model);
    }
    take(engine, pass, count);
    slots_empty(engine);
    return no_failure();
}

/* Whether a step that came in parts has been through all its passes with `count` samples. */
static failure_t check_parts(const engine_t *engine, uint16_t count) {
    const step_t *under_way = &engine->under_way;
    const bool last = under_way->pass + 1 == engine->model.training.passes;
    const uint16_t samples = under_way->pass == 0 ? under_way->through : under_way->samples;
    if (!last || under_way->through < samples || samples != count) {
        return refusal(FAILURE_PARTS_MISSING, last ? under_way->through : 0, count);
    }
    return no_failure();
}

/* End a step. One that fails is the next step still. */
static failure_t finish(engine_t *engine, step_result_t *result) {
    model_t *model = &engine->model;
    step_t *under_way = &engine->under_way;
    result->sign = model->method->finish(model, under_way);
    stopwatch_stop(&model->watch);
    const failure_t failure = under_way->failure;
    if (failure.code != 0) {
        *under_way = (step_t){.step = under_way->step};
        slots_empty(engine);
        return failure;
    }
    result->step = under_way->step;
    result->loss_plus = under_way->loss[0];
    result->loss_minus = under_way->loss[1];
    *under_way = (step_t){.step = under_way->step + 1};
    engine->written = false;
    return no_failure();
}

/* Cycles that the account holds by now. */
static lap_t booked(const engine_t *engine) {
    const cycle_account_t *account = &engine->model.account;
    lap_t lap = {.perturb = account->perturb, .update = account->update};
    for (uint8_t l = 0; l < engine->model.file.layers; l++) {
        lap.forward += account->forward[l];
        lap.backward += account->backward[l];
    }
    return lap;
}

void engine_report(engine_t *engine, step_result_t *result, void *digests) {
    model_t *model = &engine->model;
    stopwatch_start(&model->watch);
    (void)engine_digests(engine, digests); /* there are settings */
    stopwatch_book(&model->watch, &model->account.digest);
    stopwatch_stop(&model->watch);
    const lap_t all = booked(engine);
    result->cycles_perturb = all.perturb;
    result->cycles_forward = all.forward;
    result->cycles_backward = all.backward;
    result->cycles_update = all.update;
    result->cycles_digest = model->account.digest;
    result->cycles_total = all.perturb + all.forward + all.backward + all.update + result->cycles_digest;
    slots_empty(engine);
}

failure_t engine_step(engine_t *engine, uint32_t step, uint16_t count, step_result_t *result, void *digests) {
    const bool begun = engine->under_way.through > 0;
    RETURN_IF_REFUSED(check_step(engine, step));
    RETURN_IF_REFUSED(begun ? check_parts(engine, count) : slots_check(engine, count));
    if (!begun) {
        begin_account(&engine->model);
        take_all(engine, count);
    }
    RETURN_IF_REFUSED(finish(engine, result));
    engine_report(engine, result, digests);
    return no_failure();
}

failure_t engine_check_run(const engine_t *engine, uint32_t step, uint16_t steps, uint16_t count) {
    const settings_t *settings = &engine->model.settings;
    RETURN_IF_REFUSED(check_step(engine, step));
    /* A sample that is consumed is there for one step. */
    const uint16_t most = engine->model.training.consumed ? 1 : UINT16_MAX;
    if (settings->slots < settings->batch) {
        return refusal(FAILURE_BAD_SLOT, settings->slots, settings->batch);
    }
    return steps == 0 || steps > most ? refusal(FAILURE_BAD_SLOT, steps, most) : engine_check_at_rest(engine, count);
}

static lap_t since(const lap_t *before, const lap_t *now) {
    return (lap_t){.perturb = now->perturb - before->perturb,
                   .forward = now->forward - before->forward,
                   .backward = now->backward - before->backward,
                   .update = now->update - before->update};
}

failure_t engine_run(engine_t *engine, uint16_t steps, uint16_t count, step_result_t *result) {
    lap_t before = {.perturb = 0};
    begin_account(&engine->model);
    engine->lap_count = 0;
    for (uint16_t i = 0; i < steps; i++) {
        take_all(engine, count);
        RETURN_IF_REFUSED(finish(engine, result));
        const lap_t after = booked(engine);
        if (engine->lap_count < ENGINE_MAX_LAPS) {
            engine->laps[engine->lap_count++] = since(&before, &after);
        }
        before = after;
    }
    return no_failure();
}
