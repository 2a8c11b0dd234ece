/* The part of the engine that trains: parts of a step, steps, runs of steps. */
#include "graph/engine.h"
#include "graph/slots.h"
#include "methods/back_propagation.h"
#include "methods/deepzero.h"
#include "methods/graph_gradient.h"
#include "methods/poor_mans.h"

static failure_t check_step(const graph_engine_t *engine, uint32_t step) {
    const failure_t failure = graph_engine_check_configured(engine);
    if (failure.code == 0 && step != engine->under_way.step) {
        return refusal(FAILURE_OUT_OF_ORDER, step, engine->under_way.step);
    }
    return failure;
}

static void begin_account(graph_model_t *model) {
    model->account = (graph_account_t){.perturb = 0};
    model->macs = model->layer_runs = 0;
    model->watch.bookings = 0;
}

/* Take the samples in slots 0..count-1 through the step under way. */
static void take(graph_engine_t *engine, uint16_t count) {
    graph_model_t *model = &engine->model;
    stopwatch_start(&model->watch);
    if (!engine->limited) {
        graph_limit_trained(model);
        engine->limited = true;
    }
    for (uint16_t slot = 0; slot < count; slot++) {
        switch (model->settings.method) {
        case METHOD_DEEPZERO: deepzero_sample(model, &engine->under_way, slot); break;
        case METHOD_BP: back_propagation_sample(model, &engine->under_way, slot); break;
        default: poor_mans_sample(model, &engine->under_way, slot);
        }
    }
    stopwatch_stop(&model->watch);
}

failure_t graph_engine_part(graph_engine_t *engine, uint32_t step, uint8_t pass, uint16_t first, uint16_t count) {
    failure_t failure = check_step(engine, step);
    if (failure.code == 0) {
        failure = graph_slots_check(engine, count);
    }
    if (failure.code != 0) {
        return failure;
    }
    const uint16_t through = engine->under_way.through, batch = engine->model.settings.batch;
    if (pass > 0) {
        return refusal(FAILURE_BAD_SLOT, pass, 1);
    }
    if (first != through) {
        return refusal(FAILURE_OUT_OF_ORDER, first, through);
    }
    if (count > batch - through) {
        return refusal(FAILURE_BAD_SLOT, (uint32_t)first + count, batch);
    }
    if (through == 0) {
        begin_account(&engine->model);
    }
    take(engine, count);
    graph_slots_empty(engine);
    return no_failure();
}

/* End the step: its update, where it had several samples. */
static void finish(graph_engine_t *engine, step_result_t *result) {
    graph_model_t *model = &engine->model;
    const graph_step_t *under_way = &engine->under_way;
    stopwatch_start(&model->watch);
    if (model->settings.batch > 1) {
        gradient_update_summed(model, under_way->through);
        stopwatch_book(&model->watch, &model->account.update);
    }
    stopwatch_stop(&model->watch);
    result->step = under_way->step;
    result->loss_plus = under_way->loss_plus;
    result->loss_minus = under_way->loss_minus;
    result->sign = 0;
    engine->under_way = (graph_step_t){.step = under_way->step + 1};
}

static uint64_t total_of_layers(const uint64_t *cycles, uint8_t layers) {
    uint64_t total = 0;
    for (uint8_t l = 0; l < layers; l++) {
        total += cycles[l];
    }
    return total;
}

/* Cycles that the account holds by now. */
static lap_t booked(const graph_engine_t *engine) {
    const graph_account_t *account = &engine->model.account;
    const uint8_t layers = engine->model.file.layers;
    return (lap_t){.perturb = account->perturb,
                   .forward = total_of_layers(account->forward, layers),
                   .backward = total_of_layers(account->backward, layers),
                   .update = account->update};
}

void graph_engine_report(graph_engine_t *engine, step_result_t *result, uint32_t *digests) {
    graph_model_t *model = &engine->model;
    stopwatch_start(&model->watch);
    (void)graph_engine_digests(engine, digests); /* there are settings */
    stopwatch_book(&model->watch, &model->account.digest);
    stopwatch_stop(&model->watch);
    const lap_t all = booked(engine);
    result->cycles_perturb = all.perturb;
    result->cycles_forward = all.forward;
    result->cycles_backward = all.backward;
    result->cycles_update = all.update;
    result->cycles_digest = model->account.digest;
    result->cycles_total = all.perturb + all.forward + all.backward + all.update + result->cycles_digest;
    graph_slots_empty(engine);
}

failure_t graph_engine_step(graph_engine_t *engine, uint32_t step, uint16_t count, step_result_t *result,
                            uint32_t *digests) {
    const uint16_t through = engine->under_way.through;
    failure_t failure = check_step(engine, step);
    if (failure.code == 0 && through == 0) {
        failure = graph_slots_check(engine, count);
    } else if (failure.code == 0 && through != count) {
        failure = refusal(FAILURE_PARTS_MISSING, through, count);
    }
    if (failure.code != 0) {
        return failure;
    }
    if (through == 0) {
        begin_account(&engine->model);
        take(engine, count);
    }
    finish(engine, result);
    graph_engine_report(engine, result, digests);
    return no_failure();
}

failure_t graph_engine_check_run(const graph_engine_t *engine, uint32_t step, uint16_t steps, uint16_t count) {
    const graph_settings_t *settings = &engine->model.settings;
    const failure_t failure = check_step(engine, step);
    if (failure.code != 0) {
        return failure;
    }
    const uint16_t most =
        graph_consumes(settings) ? 1 : UINT16_MAX; /* a sample that is consumed is there for one step */
    if (settings->slots < settings->batch) {
        return refusal(FAILURE_BAD_SLOT, settings->slots, settings->batch);
    }
    return steps == 0 || steps > most ? refusal(FAILURE_BAD_SLOT, steps, most)
                                      : graph_engine_check_at_rest(engine, count);
}

static lap_t since(const lap_t *before, const lap_t *now) {
    return (lap_t){.perturb = now->perturb - before->perturb,
                   .forward = now->forward - before->forward,
                   .backward = now->backward - before->backward,
                   .update = now->update - before->update};
}

void graph_engine_run(graph_engine_t *engine, uint16_t steps, uint16_t count, step_result_t *result) {
    lap_t before = {.perturb = 0};
    begin_account(&engine->model);
    engine->lap_count = 0;
    for (uint16_t i = 0; i < steps; i++) {
        take(engine, count);
        finish(engine, result);
        const lap_t after = booked(engine);
        if (engine->lap_count < ENGINE_MAX_LAPS) {
            engine->laps[engine->lap_count++] = since(&before, &after);
        }
        before = after;
    }
}
