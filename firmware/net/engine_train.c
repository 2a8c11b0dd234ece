/* The part of the engine that trains: parts of a step, steps, runs of steps. */
#include "net/engine.h"
#include "net/slots.h"

static failure_t check_step(const engine_t *engine, uint32_t step) {
    const failure_t failure = engine_check_configured(engine);
    if (failure.code == 0 && step != engine->under_way.step) {
        return refusal(FAILURE_OUT_OF_ORDER, step, engine->under_way.step);
    }
    return failure;
}

/* The samples that the pass of a part may have; `turns`: the part begins the minus pass. */
static uint32_t most_of_pass(const engine_t *engine, bool turns) {
    const elasticzo_step_t *under_way = &engine->under_way;
    if (turns) {
        return under_way->through;
    }
    if (engine->settings.scope == SCOPE_BATCH && under_way->through > 0) {
        return under_way->through; /* its group, which has to be whole, has been through */
    }
    return under_way->pass == 1 ? under_way->samples : engine->settings.batch;
}

/* The pass that a part belongs to must be the one that is running, from where it stands, or the next from its beginning. */
static failure_t check_place(const engine_t *engine, uint8_t pass, uint16_t first, uint16_t count) {
    const elasticzo_step_t *under_way = &engine->under_way;
    const uint8_t passes = elasticzo_int8_passes(&engine->settings);
    const bool turns = pass == 1 && under_way->pass == 0;
    if (pass >= passes) {
        return refusal(FAILURE_BAD_SLOT, pass, passes);
    }
    if (turns && !engine_has_begun(engine)) {
        return refusal(FAILURE_PARTS_MISSING, 0, engine->settings.batch);
    }
    if (pass < under_way->pass) {
        return refusal(FAILURE_OUT_OF_ORDER, pass, under_way->pass);
    }
    const uint32_t expected = turns ? 0 : under_way->through;
    const uint32_t most = most_of_pass(engine, turns);
    if (first != expected) {
        return refusal(FAILURE_OUT_OF_ORDER, first, expected);
    }
    return (uint32_t)first + count > most ? refusal(FAILURE_BAD_SLOT, (uint32_t)first + count, most) : no_failure();
}

failure_t engine_part(engine_t *engine, uint32_t step, uint8_t pass, uint16_t first, uint16_t count) {
    failure_t failure = check_step(engine, step);
    if (failure.code == 0) {
        failure = slots_check(engine, count);
    }
    if (failure.code == 0) {
        failure = check_place(engine, pass, first, count);
    }
    if (failure.code != 0) {
        return failure;
    }
    if (!engine_has_begun(engine)) {
        engine->model.account = (cycle_account_t){.perturb = 0};
    }
    elasticzo_int8_part(&engine->model, &engine->settings, &engine->under_way, pass, count);
    slots_empty(engine);
    return no_failure();
}

/* Whether a step that came in parts has been through all its passes with `count` samples. */
static failure_t check_parts(const engine_t *engine, uint16_t count) {
    const elasticzo_step_t *under_way = &engine->under_way;
    const bool last = under_way->pass + 1 == elasticzo_int8_passes(&engine->settings);
    const uint16_t samples = under_way->pass == 0 ? under_way->through : under_way->samples;
    if (!last || under_way->through < samples || samples != count) {
        return refusal(FAILURE_PARTS_MISSING, last ? under_way->through : 0, count);
    }
    return no_failure();
}

/* All passes of a step whose samples are in slots 0..count-1. */
static void take_all(engine_t *engine, uint16_t count) {
    for (uint8_t pass = 0; pass < elasticzo_int8_passes(&engine->settings); pass++) {
        elasticzo_int8_part(&engine->model, &engine->settings, &engine->under_way, pass, count);
    }
}

static void finish(engine_t *engine, step_result_t *result) {
    elasticzo_int8_finish(&engine->model, &engine->settings, &engine->under_way, result);
    engine->under_way = (elasticzo_step_t){.step = engine->under_way.step + 1};
}

static uint64_t total_of_layers(const uint64_t *cycles, uint8_t layers) {
    uint64_t total = 0;
    for (uint8_t i = 0; i < layers; i++) {
        total += cycles[i];
    }
    return total;
}

void engine_report(engine_t *engine, step_result_t *result) {
    stopwatch_t *watch = &engine->model.watch;
    cycle_account_t *account = &engine->model.account;
    stopwatch_start(watch);
    (void)engine_digests(engine, result->digests); /* there is a network */
    stopwatch_book(watch, &account->digest);
    stopwatch_stop(watch);
    const uint8_t layers = engine->model.file.layers;
    result->cycles_perturb = account->perturb;
    result->cycles_forward = total_of_layers(account->forward, layers);
    result->cycles_backward = total_of_layers(account->backward, layers);
    result->cycles_update = account->update;
    result->cycles_digest = account->digest;
    result->cycles_total = result->cycles_perturb + result->cycles_forward + result->cycles_backward +
                           result->cycles_update + result->cycles_digest;
    slots_empty(engine);
}

failure_t engine_step(engine_t *engine, uint32_t step, uint16_t count, step_result_t *result) {
    const bool begun = engine_has_begun(engine);
    failure_t failure = check_step(engine, step);
    if (failure.code == 0) {
        failure = begun ? check_parts(engine, count) : slots_check(engine, count);
    }
    if (failure.code != 0) {
        return failure;
    }
    if (!begun) {
        engine->model.account = (cycle_account_t){.perturb = 0};
        take_all(engine, count);
    }
    finish(engine, result);
    engine_report(engine, result);
    return no_failure();
}

/* Cycles that the account holds by now. */
static lap_t booked(const engine_t *engine) {
    const cycle_account_t *account = &engine->model.account;
    const uint8_t layers = engine->model.file.layers;
    return (lap_t){.perturb = account->perturb,
                   .forward = total_of_layers(account->forward, layers),
                   .backward = total_of_layers(account->backward, layers),
                   .update = account->update};
}

static lap_t since(const lap_t *before, const lap_t *now) {
    return (lap_t){.perturb = now->perturb - before->perturb,
                   .forward = now->forward - before->forward,
                   .backward = now->backward - before->backward,
                   .update = now->update - before->update};
}

failure_t engine_check_run(const engine_t *engine, uint32_t step, uint16_t steps, uint16_t count) {
    failure_t failure = check_step(engine, step);
    if (failure.code == 0 && engine->settings.slots < engine->settings.batch) {
        failure = refusal(FAILURE_BAD_SLOT, engine->settings.slots, engine->settings.batch);
    }
    if (failure.code == 0 && steps == 0) {
        failure = refusal(FAILURE_BAD_SLOT, steps, UINT16_MAX);
    }
    return failure.code == 0 ? engine_check_at_rest(engine, count) : failure;
}

void engine_run(engine_t *engine, uint16_t steps, uint16_t count, step_result_t *result) {
    lap_t before = {.perturb = 0};
    engine->model.account = (cycle_account_t){.perturb = 0};
    engine->lap_count = 0;
    for (uint16_t i = 0; i < steps; i++) {
        take_all(engine, count);
        finish(engine, result);
        const lap_t after = booked(engine);
        if (engine->lap_count < ENGINE_MAX_LAPS) {
            engine->laps[engine->lap_count++] = since(&before, &after);
        }
        before = after;
    }
}
