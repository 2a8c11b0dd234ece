#include "trainer/requests.h"

#include <string.h>

#include "agent/port.h"

/* The engine does not know the link, but its words have the same numbers. */
#define SAME_WORD(name) _Static_assert((int)name == (int)MSG_##name, #name)
SAME_WORD(PHASE_PERTURB);
SAME_WORD(PHASE_FORWARD);
SAME_WORD(PHASE_BACKWARD);
SAME_WORD(PHASE_UPDATE);
_Static_assert(sizeof(step_result_t) == sizeof(msg_step_reply_t), "step_result_t lies as the reply does");

failure_t request_samples(const call_t *call) {
    const msg_samples_request_t *fields = call->fields;
    return engine_put_sample(call->engine, fields->slot, fields->label, call->rest, call->n);
}

failure_t request_sample_part(const call_t *call) {
    const msg_sample_part_request_t *fields = call->fields;
    return engine_put_part(call->engine, fields->slot, fields->label, fields->offset, call->rest, call->n);
}

failure_t request_kept_samples(const call_t *call) {
    const msg_kept_samples_request_t *fields = call->fields;
    return engine_put_kept(call->engine, fields->slot, call->rest, call->n);
}

/* The reply to `step` and `run`, in front of the digests of all trained tensors, which are there. */
static failure_t put_step(const call_t *call, const step_result_t *result) {
    link_put_reply(call->reply, result, sizeof *result);
    call->reply->length += model_tensors(&call->engine->model) * sizeof(uint32_t);
    return no_failure();
}

failure_t request_step(const call_t *call) {
    const msg_step_request_t *fields = call->fields;
    step_result_t result;
    RETURN_IF_REFUSED(
        engine_step(call->engine, fields->step, fields->count, &result, call->reply->body + sizeof result));
    return put_step(call, &result);
}

failure_t request_part(const call_t *call) {
    const msg_part_request_t *fields = call->fields;
    RETURN_IF_REFUSED(engine_part(call->engine, fields->step, fields->pass, fields->first, fields->count));
    const msg_part_reply_t answer = {.done = (uint16_t)(fields->first + fields->count)};
    link_put_reply(call->reply, &answer, sizeof answer);
    return no_failure();
}

/* Begin or end a window: by a level, or by a low pulse of a marker that is high at rest. */
static void mark_window(bool pulses, bool begins) {
    if (pulses) {
        mlperf_tiny_pulse();
    } else {
        port_marker(begins);
    }
}

/* The window of an energy measurement: sleep, then the steps between two edges or pulses of the marker, then sleep. */
failure_t request_run(const call_t *call) {
    const msg_run_request_t *fields = call->fields;
    const bool pulses = call->trainer->pulses;
    step_result_t result;
    RETURN_IF_REFUSED(engine_check_run(call->engine, fields->step, fields->steps, fields->count));
    port_sleep_ms(fields->idle_ms);
    mark_window(pulses, true);
    const failure_t failure = engine_run(call->engine, fields->steps, fields->count, &result);
    mark_window(pulses, false);
    port_sleep_ms(fields->idle_ms);
    RETURN_IF_REFUSED(failure);
    engine_report(call->engine, &result, call->reply->body + sizeof result);
    return put_step(call, &result);
}

failure_t request_infer(const call_t *call) {
    const msg_infer_request_t *fields = call->fields;
    const model_t *model = &call->engine->model;
    RETURN_IF_REFUSED(engine_check_network(call->engine));
    const uint16_t each = model_prediction_bytes(model), most = (MSG_MAX_BODY - sizeof(msg_infer_reply_t)) / each;
    if (fields->count > most) {
        return refusal(FAILURE_BAD_SLOT, fields->count, most);
    }
    infer_result_t result = {.predictions = call->reply->body + sizeof(msg_infer_reply_t)};
    RETURN_IF_REFUSED(engine_infer(call->engine, fields->count, &result));
    const msg_infer_reply_t answer = {.correct = result.correct, .logits_digest = result.logits_digest};
    link_put_reply(call->reply, &answer, sizeof answer);
    call->reply->length += (size_t)fields->count * each;
    return no_failure();
}

failure_t request_trace(const call_t *call) {
    enum { BLOCK = 1000 }; /* docs/link.md: at most so many bytes of a stage */
    const msg_trace_request_t *fields = call->fields;
    uint32_t length = BLOCK;
    RETURN_IF_REFUSED(
        engine_trace(call->engine, fields->slot, fields->stage, fields->offset, call->reply->body, &length));
    call->reply->length = length;
    return no_failure();
}

failure_t request_laps(const call_t *call) {
    const engine_t *engine = call->engine;
    link_put_reply(call->reply, engine->laps, engine->lap_count * sizeof engine->laps[0]);
    return no_failure();
}

failure_t request_stretches(const call_t *call) {
    const stretches_t *stretches = &call->engine->model.stretches;
    const msg_stretches_reply_t answer = {.made = stretches->made};
    const uint16_t count = stretches->made < ENGINE_MAX_STRETCHES ? stretches->made : ENGINE_MAX_STRETCHES;
    const size_t size = count * sizeof stretches->stretch[0];
    link_put_reply(call->reply, &answer, sizeof answer);
    memcpy(call->reply->body + sizeof answer, stretches->stretch, size);
    call->reply->length += size;
    return no_failure();
}

failure_t request_profile(const call_t *call) {
    const model_t *model = &call->engine->model;
    const cycle_account_t *account = &model->account;
    link_reply_t *reply = call->reply;
    const size_t size = model->file.layers * sizeof account->forward[0];
    memcpy(reply->body, account->forward, size);
    memcpy(reply->body + size, account->backward, size);
    reply->length = 2 * size;
    return no_failure();
}

failure_t request_bookings(const call_t *call) {
    enum { BOOKINGS = 101 }; /* odd: one of them is the median */
    link_reply_t *reply = call->reply;
    for (int i = 0; i < BOOKINGS; i++) {
        const uint32_t cycles = stopwatch_book_nothing(&call->engine->model.watch);
        memcpy(reply->body + reply->length, &cycles, sizeof cycles);
        reply->length += sizeof cycles;
    }
    return no_failure();
}

failure_t request_work(const call_t *call) {
    const model_t *model = &call->engine->model;
    const msg_work_reply_t answer = {
        .macs = model->macs, .layer_runs = model->layer_runs, .bookings = model->watch.bookings};
    RETURN_IF_REFUSED(engine_check_network(call->engine));
    link_put_reply(call->reply, &answer, sizeof answer);
    return no_failure();
}
