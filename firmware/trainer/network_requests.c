#include <string.h>

#include "agent/memory.h"
#include "trainer/registry.h"
#include "trainer/requests.h"

failure_t request_load_begin(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_load_begin_request_t fields;
    (void)reply;
    memcpy(&fields, request->body, sizeof fields);
    return engine_load_begin(&trainer->engine, fields.total);
}

failure_t request_load_data(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_load_data_request_t fields;
    (void)reply;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_load_data(&trainer->engine, fields.offset, request->body + sizeof fields, (uint32_t)n);
}

/* Commands of MLPerf Tiny are for bfp8. */
static failure_t loaded(trainer_t *trainer, failure_t outcome, link_reply_t *reply) {
    const engine_t *engine = &trainer->engine;
    if (outcome.code == 0) {
        const msg_load_end_reply_t answer = {
            .network_digest = engine_network_digest(engine),
            .tensors = engine_tensors(engine),
            .layers = engine_layers(engine),
        };
        link_put_reply(reply, &answer, sizeof answer);
        if (engine->model.format->number != FORMAT_BFP8) {
            mlperf_tiny_end(&trainer->tiny);
        }
    }
    return outcome;
}

failure_t request_load_end(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    (void)request;
    return loaded(trainer, engine_load_end(&trainer->engine), reply);
}

/* A file that is not all in flash is refused before anything reads there. */
failure_t request_use_flash(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_use_flash_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const memory_range_t flash = memory_flash();
    const uint32_t from = fields.address - (uint32_t)(uintptr_t)flash.base; /* beyond the end where it lies before */
    const uint32_t left = from < flash.size ? flash.size - from : 0;
    if (fields.total > left) {
        return refusal(FAILURE_DOES_NOT_FIT, fields.total, left);
    }
    return loaded(trainer, engine_use_flash(&trainer->engine, flash.base + from, fields.total), reply);
}

failure_t request_configure(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    engine_t *engine = &trainer->engine;
    uint32_t planned = 0;
    const failure_t outcome = registry_configure(engine, request->body, (uint32_t)request->length, &planned);
    if (outcome.code == 0) {
        const msg_configure_reply_t answer = {
            .arena_planned = planned, .arena_size = engine->arena_size, .tensors = engine_tensors(engine)};
        link_put_reply(reply, &answer, sizeof answer);
    }
    return outcome;
}

failure_t request_digests(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    (void)request;
    const failure_t outcome = engine_digests(&trainer->engine, reply->body);
    reply->length = outcome.code == 0 ? engine_tensors(&trainer->engine) * sizeof(uint32_t) : 0;
    return outcome;
}

failure_t request_read_tensor(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_read_tensor_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    if (fields.length > MSG_MAX_BODY) {
        return refusal(FAILURE_BAD_TENSOR, fields.tensor, fields.offset);
    }
    const failure_t outcome =
        engine_read_tensor(&trainer->engine, fields.tensor, fields.offset, fields.length, reply->body);
    reply->length = outcome.code == 0 ? fields.length : 0;
    return outcome;
}

failure_t request_write_tensor(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    msg_write_tensor_request_t fields;
    (void)reply;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_write_tensor(&trainer->engine, fields.tensor, fields.offset, (uint32_t)n,
                               request->body + sizeof fields);
}
