#include "agent/memory.h"
#include "arith/xxh32.h"
#include "trainer/registry.h"
#include "trainer/requests.h"

failure_t request_load_begin(const call_t *call) {
    const msg_load_begin_request_t *fields = call->fields;
    return engine_load_begin(call->engine, fields->total);
}

failure_t request_load_data(const call_t *call) {
    const msg_load_data_request_t *fields = call->fields;
    return engine_load_data(call->engine, fields->offset, call->rest, call->n);
}

static failure_t loaded(const call_t *call) {
    const model_t *model = &call->engine->model;
    const msg_load_end_reply_t answer = {
        .network_digest = graph_header(&model->file)->digest,
        .tensors = model_tensors(model),
        .layers = model->file.layers,
    };
    link_put_reply(call->reply, &answer, sizeof answer);
    if (!model_serves(model, SERVES_MLPERF_TINY)) {
        mlperf_tiny_end(&call->trainer->tiny);
    }
    return no_failure();
}

failure_t request_load_end(const call_t *call) {
    RETURN_IF_REFUSED(engine_load_end(call->engine));
    return loaded(call);
}

/* What is not all in flash is refused before anything reads there. */
static failure_t find_in_flash(uint32_t address, uint32_t total, const uint8_t **bytes) {
    const memory_range_t flash = memory_flash();
    /* An address before the flash becomes one beyond its end. */
    const uint32_t from = address - (uint32_t)(uintptr_t)flash.base;
    const uint32_t left = from < flash.size ? flash.size - from : 0;
    *bytes = flash.base + from;
    return total <= left ? no_failure() : refusal(FAILURE_DOES_NOT_FIT, total, left);
}

failure_t request_use_flash(const call_t *call) {
    const msg_use_flash_request_t *fields = call->fields;
    const uint8_t *file;
    RETURN_IF_REFUSED(find_in_flash(fields->address, fields->total, &file));
    RETURN_IF_REFUSED(engine_use_flash(call->engine, file, fields->total));
    return loaded(call);
}

/* Address 0 is that of no samples: the vectors or nothing are there. */
failure_t request_keep(const call_t *call) {
    const msg_keep_request_t *fields = call->fields;
    if (fields->address == 0) {
        RETURN_IF_REFUSED(engine_keep_loaded(call->engine, fields->total));
    } else {
        const uint8_t *samples;
        RETURN_IF_REFUSED(find_in_flash(fields->address, fields->total, &samples));
        engine_keep_flash(call->engine, samples, fields->total);
    }
    const msg_keep_reply_t answer = {.digest = xxh32(call->engine->kept.samples, fields->total, 0)};
    link_put_reply(call->reply, &answer, sizeof answer);
    return no_failure();
}

failure_t request_configure(const call_t *call) {
    engine_t *engine = call->engine;
    uint32_t planned = 0;
    RETURN_IF_REFUSED(registry_configure(engine, call->fields, call->n + 1, &planned));
    const msg_configure_reply_t answer = {.arena_planned = planned,
                                          .arena_size = engine->arena_size + engine->kept.in_ram,
                                          .tensors = model_tensors(&engine->model)};
    link_put_reply(call->reply, &answer, sizeof answer);
    return no_failure();
}

failure_t request_digests(const call_t *call) {
    RETURN_IF_REFUSED(engine_digests(call->engine, call->reply->body));
    call->reply->length = model_tensors(&call->engine->model) * sizeof(uint32_t);
    return no_failure();
}

failure_t request_read_tensor(const call_t *call) {
    const msg_read_tensor_request_t *fields = call->fields;
    if (fields->length > MSG_MAX_BODY) {
        return refusal(FAILURE_BAD_TENSOR, fields->tensor, fields->offset);
    }
    RETURN_IF_REFUSED(
        engine_read_tensor(call->engine, fields->tensor, fields->offset, fields->length, call->reply->body));
    call->reply->length = fields->length;
    return no_failure();
}

failure_t request_write_tensor(const call_t *call) {
    const msg_write_tensor_request_t *fields = call->fields;
    return engine_write_tensor(call->engine, fields->tensor, fields->offset, call->n, call->rest);
}
