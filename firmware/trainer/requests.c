#include "trainer/requests.h"

#include <string.h>

#include "agent/port.h"
#include "trainer/pulse.h"

/* The engine knows nothing of the link, but uses its words. */
#define SAME_WORD(name) _Static_assert((int)name == (int)MSG_##name, #name)
SAME_WORD(PHASE_PERTURB);
SAME_WORD(PHASE_FORWARD);
SAME_WORD(PHASE_BACKWARD);
SAME_WORD(PHASE_UPDATE);

failure_t request_samples(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_samples_request_t fields;
    (void)reply;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_put_sample(&trainer->engine, fields.slot, fields.label, request->body + sizeof fields, (uint32_t)n);
}

failure_t request_sample_part(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_sample_part_request_t fields;
    (void)reply;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_put_part(&trainer->engine, fields.slot, fields.label, fields.offset, request->body + sizeof fields,
                           (uint32_t)n);
}

/* The reply to `step` and `run`, in front of the digests of all trained tensors, which are there. */
static void put_step(const step_result_t *result, const engine_t *engine, link_reply_t *reply) {
    const msg_step_reply_t answer = {
        .step = result->step,
        .loss_plus = result->loss_plus,
        .loss_minus = result->loss_minus,
        .sign = result->sign,
        .cycles_perturb = result->cycles_perturb,
        .cycles_forward = result->cycles_forward,
        .cycles_backward = result->cycles_backward,
        .cycles_update = result->cycles_update,
        .cycles_digest = result->cycles_digest,
        .cycles_total = result->cycles_total,
    };
    link_put_reply(reply, &answer, sizeof answer);
    reply->length += engine_tensors(engine) * sizeof(uint32_t);
}

failure_t request_step(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_step_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    engine_t *engine = &trainer->engine;
    step_result_t result;
    const failure_t outcome =
        engine_step(engine, fields.step, fields.count, &result, reply->body + sizeof(msg_step_reply_t));
    if (outcome.code == 0) {
        put_step(&result, engine, reply);
    }
    return outcome;
}

failure_t request_part(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_part_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const failure_t outcome = engine_part(&trainer->engine, fields.step, fields.pass, fields.first, fields.count);
    if (outcome.code == 0) {
        const msg_part_reply_t answer = {.done = (uint16_t)(fields.first + fields.count)};
        link_put_reply(reply, &answer, sizeof answer);
    }
    return outcome;
}

/* The window of an energy measurement: asleep, the steps between two edges of the marker or two pulses of it, asleep.
   */
failure_t request_run(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_run_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    engine_t *engine = &trainer->engine;
    const failure_t outcome = engine_check_run(engine, fields.step, fields.steps, fields.count);
    if (outcome.code == 0) {
        step_result_t result;
        port_sleep_ms(fields.idle_ms);
        mark_window(trainer->pulses, true);
        engine_run(engine, fields.steps, fields.count, &result);
        mark_window(trainer->pulses, false);
        port_sleep_ms(fields.idle_ms);
        engine_report(engine, &result, reply->body + sizeof(msg_step_reply_t));
        put_step(&result, engine, reply);
    }
    return outcome;
}

failure_t request_infer(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_infer_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    msg_infer_reply_t answer;
    const uint16_t most = MSG_MAX_BODY - sizeof answer;
    if (fields.count > most) {
        return refusal(FAILURE_BAD_SLOT, fields.count, most);
    }
    infer_result_t result = {.predictions = reply->body + sizeof answer};
    const failure_t outcome = engine_infer(&trainer->engine, fields.count, &result);
    if (outcome.code == 0) {
        answer = (msg_infer_reply_t){.correct = result.correct, .logits_digest = result.logits_digest};
        link_put_reply(reply, &answer, sizeof answer);
        reply->length += fields.count;
    }
    return outcome;
}

failure_t request_trace(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    enum { BLOCK = 1000 }; /* docs/link.md: at most so many bytes of a stage */
    msg_trace_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    uint32_t length = BLOCK;
    const failure_t outcome =
        engine_trace(&trainer->engine, fields.slot, fields.stage, fields.offset, reply->body, &length);
    reply->length = outcome.code == 0 ? length : 0;
    return outcome;
}

failure_t request_laps(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    const engine_t *engine = &trainer->engine;
    (void)request;
    link_put_reply(reply, engine->laps, engine->lap_count * sizeof engine->laps[0]);
    return no_failure();
}

failure_t request_stretches(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    const stretches_t *stretches = &trainer->engine.model.stretches;
    const msg_stretches_reply_t answer = {.made = stretches->made};
    const uint16_t told = stretches->made < ENGINE_MAX_STRETCHES ? stretches->made : ENGINE_MAX_STRETCHES;
    const size_t size = told * sizeof stretches->told[0];
    (void)request;
    link_put_reply(reply, &answer, sizeof answer);
    memcpy(reply->body + sizeof answer, stretches->told, size);
    reply->length += size;
    return no_failure();
}

failure_t request_profile(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    const cycle_account_t *account = &trainer->engine.model.account;
    const size_t size = engine_layers(&trainer->engine) * sizeof account->forward[0];
    (void)request;
    memcpy(reply->body, account->forward, size);
    memcpy(reply->body + size, account->backward, size);
    reply->length = 2 * size;
    return no_failure();
}

failure_t request_bookings(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    enum { BOOKINGS = 101 }; /* odd: one of them is the median */
    (void)request;
    for (int i = 0; i < BOOKINGS; i++) {
        const uint32_t cycles = stopwatch_book_nothing(&trainer->engine.model.watch);
        memcpy(reply->body + reply->length, &cycles, sizeof cycles);
        reply->length += sizeof cycles;
    }
    return no_failure();
}

failure_t request_work(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    const model_t *model = &trainer->engine.model;
    const msg_work_reply_t answer = {
        .macs = model->macs, .layer_runs = model->layer_runs, .bookings = model->watch.bookings};
    (void)request;
    if (!engine_has_network(&trainer->engine)) {
        return refusal(FAILURE_NO_NETWORK, 0, 0);
    }
    link_put_reply(reply, &answer, sizeof answer);
    return no_failure();
}
