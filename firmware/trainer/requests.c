#include "trainer/requests.h"

#include <string.h>

#include "agent/memory.h"
#include "agent/port.h"
#include "trainer/pulse.h"

/* The engine knows nothing of the link, but uses its words. */
#define SAME_WORD(name) _Static_assert((int)name == (int)MSG_##name, #name)
SAME_WORD(LOSS_FLOAT);
SAME_WORD(LOSS_INTEGER);
SAME_WORD(SCOPE_SAMPLE);
SAME_WORD(SCOPE_BATCH);
SAME_WORD(PERTURB_CLAMPED);
SAME_WORD(PERTURB_EXACT);
SAME_WORD(LOGIT_ERROR_NITI);
SAME_WORD(LOGIT_ERROR_ZERO_SUM);
SAME_WORD(PHASE_PERTURB);
SAME_WORD(PHASE_FORWARD);
SAME_WORD(PHASE_BACKWARD);
SAME_WORD(PHASE_UPDATE);

failure_t request_configure(engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_configure_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const settings_t settings = {
        .partition = fields.partition,
        .b_zo = fields.b_zo,
        .b_bp = fields.b_bp,
        .p_zero = fields.p_zero,
        .r_max = fields.r_max,
        .loss = fields.loss,
        .scope = fields.scope,
        .perturb = fields.perturb,
        .logit_error = fields.logit_error,
        .loss_fraction = fields.loss_fraction,
        .batch = fields.batch,
        .seed = fields.seed,
        .slots = fields.slots,
        .first_step = fields.first_step,
    };
    uint32_t planned = 0;
    const failure_t outcome = engine_configure(engine, &settings, &planned);
    if (outcome.code == 0) {
        const msg_configure_reply_t answer = {.arena_planned = planned, .arena_size = memory_arena().size};
        link_put_reply(reply, &answer, sizeof answer);
    }
    return outcome;
}

failure_t request_samples(engine_t *engine, const link_request_t *request) {
    msg_samples_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_put_sample(engine, fields.slot, fields.label, request->body + sizeof fields, (uint32_t)n);
}

void request_put_step(const step_result_t *result, const uint32_t *digests, uint8_t tensors, link_reply_t *reply) {
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
    const size_t size = tensors * sizeof digests[0];
    memcpy(reply->body + sizeof answer, digests, size);
    reply->length += size;
}

failure_t request_step(engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_step_request_t fields;
    memcpy(&fields, body, sizeof fields);
    step_result_t result;
    const failure_t outcome = engine_step(engine, fields.step, fields.count, &result);
    if (outcome.code == 0) {
        request_put_step(&result, result.digests, engine_tensors(engine), reply);
    }
    return outcome;
}

failure_t request_part(engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_part_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const failure_t outcome = engine_part(engine, fields.step, fields.pass, fields.first, fields.count);
    if (outcome.code == 0) {
        const msg_part_reply_t answer = {.done = (uint16_t)(fields.first + fields.count)};
        link_put_reply(reply, &answer, sizeof answer);
    }
    return outcome;
}

/* The window of an energy measurement: asleep, the steps between two edges of the marker or two pulses of it, asleep. */
failure_t request_run(engine_t *engine, bool pulses, const uint8_t *body, link_reply_t *reply) {
    msg_run_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const failure_t outcome = engine_check_run(engine, fields.step, fields.steps, fields.count);
    if (outcome.code == 0) {
        step_result_t result;
        port_sleep_ms(fields.idle_ms);
        mark_window(pulses, true);
        engine_run(engine, fields.steps, fields.count, &result);
        mark_window(pulses, false);
        port_sleep_ms(fields.idle_ms);
        engine_report(engine, &result);
        request_put_step(&result, result.digests, engine_tensors(engine), reply);
    }
    return outcome;
}

failure_t request_laps(const engine_t *engine, link_reply_t *reply) {
    link_put_reply(reply, engine->laps, engine->lap_count * sizeof engine->laps[0]);
    return no_failure();
}

failure_t request_stretches(const engine_t *engine, link_reply_t *reply) {
    const stretches_t *stretches = &engine->model.stretches;
    const msg_stretches_reply_t answer = {.made = stretches->made};
    const uint16_t told = stretches->made < ENGINE_MAX_STRETCHES ? stretches->made : ENGINE_MAX_STRETCHES;
    const size_t size = told * sizeof stretches->told[0];
    link_put_reply(reply, &answer, sizeof answer);
    memcpy(reply->body + sizeof answer, stretches->told, size);
    reply->length += size;
    return no_failure();
}

failure_t request_profile(const engine_t *engine, link_reply_t *reply) {
    const cycle_account_t *account = &engine->model.account;
    const size_t size = engine_layers(engine) * sizeof account->forward[0];
    memcpy(reply->body, account->forward, size);
    memcpy(reply->body + size, account->backward, size);
    reply->length = 2 * size;
    return no_failure();
}

failure_t request_bookings(stopwatch_t *watch, link_reply_t *reply) {
    enum { BOOKINGS = 101 }; /* odd: one of them is the median */
    for (int i = 0; i < BOOKINGS; i++) {
        const uint32_t cycles = stopwatch_book_nothing(watch);
        memcpy(reply->body + reply->length, &cycles, sizeof cycles);
        reply->length += sizeof cycles;
    }
    return no_failure();
}

failure_t request_infer(engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_infer_request_t fields;
    memcpy(&fields, body, sizeof fields);
    msg_infer_reply_t answer;
    const uint16_t most = MSG_MAX_BODY - sizeof answer;
    if (fields.count > most) {
        return refusal(FAILURE_BAD_SLOT, fields.count, most);
    }
    infer_result_t result = {.predictions = reply->body + sizeof answer};
    const failure_t outcome = engine_infer(engine, fields.count, &result);
    if (outcome.code == 0) {
        answer = (msg_infer_reply_t){.correct = result.correct, .logits_digest = result.logits_digest};
        link_put_reply(reply, &answer, sizeof answer);
        reply->length += fields.count;
    }
    return outcome;
}
