#include "trainer/graph_requests.h"

#include <string.h>

#include "agent/port.h"
#include "trainer/pulse.h"
#include "trainer/requests.h"

enum { MOST_TENSORS = 2 * GRAPH_MAX_LAYERS };

void graph_put_loaded(const graph_engine_t *engine, link_reply_t *reply) {
    const msg_load_end_reply_t answer = {
        .network_digest = graph_header(&engine->model.file)->digest,
        .tensors = graph_engine_tensors(engine),
        .layers = engine->model.file.layers,
    };
    link_put_reply(reply, &answer, sizeof answer);
}

static failure_t configure(graph_engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_configure_graph_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const graph_settings_t settings = {
        .method = fields.method,
        .train = fields.train,
        .blocks = fields.blocks,
        .train_bias = fields.train_bias,
        .perturb = fields.perturb,
        .wise = fields.wise,
        .difference = fields.difference,
        .direction = fields.direction,
        .gns = fields.gns,
        .qas = fields.qas,
        .sparsity = fields.sparsity,
        .queries = fields.queries,
        .flags = fields.flags,
        .eta = fields.eta,
        .batch = fields.batch,
        .seed = fields.seed,
        .slots = fields.slots,
        .first_step = fields.first_step,
        .momentum = fields.momentum,
    };
    uint32_t planned = 0;
    const failure_t outcome = graph_engine_configure(engine, &settings, &planned);
    if (outcome.code == 0) {
        const msg_configure_graph_reply_t answer = {
            .arena_planned = planned, .arena_size = engine->arena_size, .tensors = graph_engine_tensors(engine)};
        link_put_reply(reply, &answer, sizeof answer);
    }
    return outcome;
}

static failure_t samples(graph_engine_t *engine, const link_request_t *request) {
    msg_samples_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return graph_engine_put_sample(engine, fields.slot, fields.label, request->body + sizeof fields, (uint32_t)n);
}

static failure_t sample_part(graph_engine_t *engine, const link_request_t *request) {
    msg_sample_part_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return graph_engine_put_part(engine, fields.slot, fields.label, fields.offset, request->body + sizeof fields,
                                 (uint32_t)n);
}

static failure_t step(graph_engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_step_request_t fields;
    memcpy(&fields, body, sizeof fields);
    step_result_t result;
    uint32_t digests[MOST_TENSORS];
    const failure_t outcome = graph_engine_step(engine, fields.step, fields.count, &result, digests);
    if (outcome.code == 0) {
        request_put_step(&result, digests, graph_engine_tensors(engine), reply);
    }
    return outcome;
}

static failure_t part(graph_engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_part_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const failure_t outcome = graph_engine_part(engine, fields.step, fields.pass, fields.first, fields.count);
    if (outcome.code == 0) {
        const msg_part_reply_t answer = {.done = (uint16_t)(fields.first + fields.count)};
        link_put_reply(reply, &answer, sizeof answer);
    }
    return outcome;
}

/* The window of an energy measurement: asleep, the steps between two edges of the marker, asleep. */
static failure_t run(graph_engine_t *engine, bool pulses, const uint8_t *body, link_reply_t *reply) {
    msg_run_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const failure_t outcome = graph_engine_check_run(engine, fields.step, fields.steps, fields.count);
    if (outcome.code == 0) {
        step_result_t result;
        uint32_t digests[MOST_TENSORS];
        port_sleep_ms(fields.idle_ms);
        mark_window(pulses, true);
        graph_engine_run(engine, fields.steps, fields.count, &result);
        mark_window(pulses, false);
        port_sleep_ms(fields.idle_ms);
        graph_engine_report(engine, &result, digests);
        request_put_step(&result, digests, graph_engine_tensors(engine), reply);
    }
    return outcome;
}

static failure_t infer(graph_engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_infer_request_t fields;
    memcpy(&fields, body, sizeof fields);
    msg_infer_reply_t answer;
    const uint16_t most = MSG_MAX_BODY - sizeof answer;
    if (fields.count > most) {
        return refusal(FAILURE_BAD_SLOT, fields.count, most);
    }
    infer_result_t result = {.predictions = reply->body + sizeof answer};
    const failure_t outcome = graph_engine_infer(engine, fields.count, &result);
    if (outcome.code == 0) {
        answer = (msg_infer_reply_t){.correct = result.correct, .logits_digest = result.logits_digest};
        link_put_reply(reply, &answer, sizeof answer);
        reply->length += fields.count;
    }
    return outcome;
}

static failure_t digests(const graph_engine_t *engine, link_reply_t *reply) {
    uint32_t words[MOST_TENSORS];
    const failure_t outcome = graph_engine_digests(engine, words);
    if (outcome.code == 0) {
        link_put_reply(reply, words, graph_engine_tensors(engine) * sizeof words[0]);
    }
    return outcome;
}

static failure_t read_tensor(const graph_engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_read_tensor_request_t fields;
    memcpy(&fields, body, sizeof fields);
    if (fields.length > MSG_MAX_BODY) {
        return refusal(FAILURE_BAD_TENSOR, fields.tensor, fields.offset);
    }
    const failure_t outcome =
        graph_engine_read_tensor(engine, fields.tensor, fields.offset, fields.length, reply->body);
    reply->length = outcome.code == 0 ? fields.length : 0;
    return outcome;
}

static failure_t write_tensor(graph_engine_t *engine, const link_request_t *request) {
    msg_write_tensor_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return graph_engine_write_tensor(engine, fields.tensor, fields.offset, (uint32_t)n, request->body + sizeof fields);
}

static failure_t trace_sample(graph_engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    enum { BLOCK = 1000 }; /* docs/link.md: at most so many bytes of a stage */
    msg_trace_request_t fields;
    memcpy(&fields, body, sizeof fields);
    uint32_t length = BLOCK;
    const failure_t outcome =
        graph_engine_trace(engine, fields.slot, fields.stage, fields.offset, reply->body, &length);
    reply->length = outcome.code == 0 ? length : 0;
    return outcome;
}

static failure_t laps(const graph_engine_t *engine, link_reply_t *reply) {
    link_put_reply(reply, engine->laps, engine->lap_count * sizeof engine->laps[0]);
    return no_failure();
}

static failure_t profile(const graph_engine_t *engine, link_reply_t *reply) {
    const graph_account_t *account = &engine->model.account;
    const size_t size = engine->model.file.layers * sizeof account->forward[0];
    memcpy(reply->body, account->forward, size);
    memcpy(reply->body + size, account->backward, size);
    reply->length = 2 * size;
    return no_failure();
}

static failure_t work(const graph_engine_t *engine, link_reply_t *reply) {
    const graph_model_t *model = &engine->model;
    const msg_work_reply_t answer = {
        .macs = model->macs, .layer_runs = model->layer_runs, .bookings = model->watch.bookings};
    link_put_reply(reply, &answer, sizeof answer);
    return no_failure();
}

/* Queries are too many and too short for a list of phases: none is kept. */
static failure_t stretches(link_reply_t *reply) {
    const msg_stretches_reply_t answer = {.made = 0};
    link_put_reply(reply, &answer, sizeof answer);
    return no_failure();
}

failure_t graph_request(graph_engine_t *engine, bool pulses, const link_request_t *request, link_reply_t *reply) {
    const uint8_t *body = request->body;
    switch (request->type) {
    case MSG_CONFIGURE_GRAPH: return configure(engine, body, reply);
    case MSG_SAMPLES: return samples(engine, request);
    case MSG_SAMPLE_PART: return sample_part(engine, request);
    case MSG_STEP: return step(engine, body, reply);
    case MSG_PART: return part(engine, body, reply);
    case MSG_RUN: return run(engine, pulses, body, reply);
    case MSG_INFER: return infer(engine, body, reply);
    case MSG_READ_TENSOR: return read_tensor(engine, body, reply);
    case MSG_WRITE_TENSOR: return write_tensor(engine, request);
    case MSG_TRACE: return trace_sample(engine, body, reply);
    case MSG_DIGESTS: return digests(engine, reply);
    case MSG_PROFILE: return profile(engine, reply);
    case MSG_WORK: return work(engine, reply);
    case MSG_LAPS: return laps(engine, reply);
    case MSG_STRETCHES: return stretches(reply);
    case MSG_BOOKINGS: return request_bookings(&engine->model.watch, reply);
    case MSG_LOAD_DATA:
    case MSG_LOAD_END: return refusal(FAILURE_NO_NETWORK, 0, 0); /* none was begun */
    default: return graph_other_format();
    }
}
