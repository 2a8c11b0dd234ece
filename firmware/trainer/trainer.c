#include "trainer/trainer.h"

#include <string.h>

#include "agent/memory.h"
#include "agent/port.h"
#include "trainer/checkpoint.h"
#include "trainer/graph_requests.h"
#include "trainer/requests.h"

/* The engine knows nothing of the link, but speaks of its errors by the same numbers. */
#define SAME_CODE(name) _Static_assert((int)FAILURE_##name == (int)MSG_ERROR_##name, #name)
SAME_CODE(BAD_LENGTH);
SAME_CODE(OUT_OF_ORDER);
SAME_CODE(NETWORK_MAGIC);
SAME_CODE(NETWORK_VERSION);
SAME_CODE(NETWORK_TRUNCATED);
SAME_CODE(NETWORK_DIGEST);
SAME_CODE(NETWORK_LAYER);
SAME_CODE(NO_NETWORK);
SAME_CODE(NOT_CONFIGURED);
SAME_CODE(DOES_NOT_FIT);
SAME_CODE(BAD_SETTING);
SAME_CODE(BAD_SLOT);
SAME_CODE(BAD_TENSOR);
SAME_CODE(SLOTS_EMPTY);
SAME_CODE(PARTS_MISSING);

/* From here on the network is in bfp8, or there is none. */
static void begin_bfp8(trainer_t *trainer) {
    const memory_range_t arena = memory_arena();
    trainer->has_graph = false;
    engine_init(&trainer->engine, arena.base, arena.size, port_cycles);
}

/* From here on the network is in tflite8, if its file is as it should be. Commands of MLPerf Tiny are for bfp8. */
static failure_t begin_tflite8(trainer_t *trainer, const uint8_t *file, uint32_t size, link_reply_t *reply) {
    const memory_range_t arena = memory_arena();
    mlperf_tiny_end(&trainer->tiny);
    graph_engine_init(&trainer->graph, arena.base, arena.size, port_cycles);
    const failure_t outcome = file == arena.base ? graph_engine_use_arena(&trainer->graph, size)
                                                 : graph_engine_use_flash(&trainer->graph, file, size);
    if (outcome.code == 0) {
        trainer->has_graph = true;
        graph_put_loaded(&trainer->graph, reply);
    } else {
        begin_bfp8(trainer);
    }
    return outcome;
}

static failure_t load_begin(trainer_t *trainer, const uint8_t *body) {
    msg_load_begin_request_t fields;
    memcpy(&fields, body, sizeof fields);
    if (trainer->has_graph) {
        begin_bfp8(trainer);
    }
    return engine_load_begin(&trainer->engine, fields.total);
}

static failure_t load_data(engine_t *engine, const link_request_t *request) {
    msg_load_data_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_load_data(engine, fields.offset, request->body + sizeof fields, (uint32_t)n);
}

/* Whether a whole file was received whose first layer says that it is tflite8. */
static bool received_graph(const engine_t *engine) {
    const graph_file_t file = {.bytes = engine->model.arena};
    const bool whole =
        engine->received == engine->total && engine->received >= sizeof(graph_header_t) + sizeof(graph_layer_t);
    return whole && !engine->loaded && graph_layer(&file, 0)->format == FORMAT_TFLITE8;
}

static failure_t load_end(trainer_t *trainer, link_reply_t *reply) {
    engine_t *engine = &trainer->engine;
    if (received_graph(engine)) {
        return begin_tflite8(trainer, engine->model.arena, engine->received, reply);
    }
    const failure_t outcome = engine_load_end(engine);
    if (outcome.code == 0) {
        const msg_load_end_reply_t fields = {
            .network_digest = engine_network_digest(engine),
            .tensors = engine_tensors(engine),
            .layers = engine_layers(engine),
        };
        link_put_reply(reply, &fields, sizeof fields);
    }
    return outcome;
}

/* A file that is not all in flash is refused before anything reads there. */
static failure_t use_flash(trainer_t *trainer, const uint8_t *body, link_reply_t *reply) {
    msg_use_flash_request_t fields;
    memcpy(&fields, body, sizeof fields);
    const memory_range_t flash = memory_flash();
    const uint32_t from = fields.address - (uint32_t)(uintptr_t)flash.base; /* beyond the end where it lies before */
    const uint32_t left = from < flash.size ? flash.size - from : 0;
    return fields.total <= left ? begin_tflite8(trainer, flash.base + from, fields.total, reply)
                                : refusal(FAILURE_DOES_NOT_FIT, fields.total, left);
}

static failure_t read_tensor(engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    msg_read_tensor_request_t fields;
    memcpy(&fields, body, sizeof fields);
    if (fields.length > MSG_MAX_BODY) {
        return refusal(FAILURE_BAD_TENSOR, fields.tensor, fields.offset);
    }
    const failure_t outcome = engine_read_tensor(engine, fields.tensor, fields.offset, fields.length, reply->body);
    if (outcome.code == 0) {
        reply->length = fields.length;
    }
    return outcome;
}

static failure_t digests(engine_t *engine, link_reply_t *reply) {
    uint32_t words[ENGINE_MAX_TENSORS];
    const failure_t outcome = engine_digests(engine, words);
    if (outcome.code == 0) {
        link_put_reply(reply, words, engine_tensors(engine) * sizeof words[0]);
    }
    return outcome;
}

static failure_t trace_sample(engine_t *engine, const uint8_t *body, link_reply_t *reply) {
    enum { BLOCK = 1000 }; /* docs/link.md: at most so many bytes of a stage */
    msg_trace_request_t fields;
    memcpy(&fields, body, sizeof fields);
    uint32_t length = BLOCK;
    const failure_t outcome = engine_trace(engine, fields.slot, fields.stage, fields.offset, reply->body, &length);
    if (outcome.code == 0) {
        reply->length = length;
    }
    return outcome;
}

static failure_t mlperf_tiny(trainer_t *trainer, const uint8_t *body) {
    msg_mlperf_tiny_request_t fields;
    memcpy(&fields, body, sizeof fields);
    mlperf_tiny_begin(&trainer->tiny, &trainer->engine, &fields);
    return no_failure();
}

static failure_t marker(trainer_t *trainer, const uint8_t *body) {
    msg_marker_request_t fields;
    memcpy(&fields, body, sizeof fields);
    trainer->pulses = fields.pulses != 0;
    port_marker(trainer->pulses);
    return no_failure();
}

/* The fixed part of a request's body in bytes, and whether more may follow it; false: no such request. */
static bool body_shape(uint8_t type, size_t *fixed, bool *open) {
    *open = type == MSG_LOAD_DATA || type == MSG_SAMPLES || type == MSG_SAMPLE_PART || type == MSG_WRITE_TENSOR;
    switch (type) {
    case MSG_LOAD_BEGIN: *fixed = sizeof(msg_load_begin_request_t); return true;
    case MSG_LOAD_DATA: *fixed = sizeof(msg_load_data_request_t); return true;
    case MSG_CONFIGURE: *fixed = sizeof(msg_configure_request_t); return true;
    case MSG_SAMPLES: *fixed = sizeof(msg_samples_request_t); return true;
    case MSG_STEP: *fixed = sizeof(msg_step_request_t); return true;
    case MSG_PART: *fixed = sizeof(msg_part_request_t); return true;
    case MSG_RUN: *fixed = sizeof(msg_run_request_t); return true;
    case MSG_INFER: *fixed = sizeof(msg_infer_request_t); return true;
    case MSG_READ_TENSOR: *fixed = sizeof(msg_read_tensor_request_t); return true;
    case MSG_TRACE: *fixed = sizeof(msg_trace_request_t); return true;
    case MSG_CONFIGURE_GRAPH: *fixed = sizeof(msg_configure_graph_request_t); return true;
    case MSG_SAMPLE_PART: *fixed = sizeof(msg_sample_part_request_t); return true;
    case MSG_USE_FLASH: *fixed = sizeof(msg_use_flash_request_t); return true;
    case MSG_WRITE_TENSOR: *fixed = sizeof(msg_write_tensor_request_t); return true;
    case MSG_MLPERF_TINY: *fixed = sizeof(msg_mlperf_tiny_request_t); return true;
    case MSG_MARKER: *fixed = sizeof(msg_marker_request_t); return true;
    case MSG_SAVE_CHECKPOINT: *fixed = sizeof(msg_save_checkpoint_request_t); return true;
    case MSG_LOAD_CHECKPOINT: *fixed = sizeof(msg_load_checkpoint_request_t); return true;
    case MSG_CHECKPOINTS:
    case MSG_LOAD_END:
    case MSG_LAPS:
    case MSG_STRETCHES:
    case MSG_PROFILE:
    case MSG_BOOKINGS:
    case MSG_WORK:
    case MSG_DIGESTS: *fixed = 0; return true;
    default: return false;
    }
}

/* Requests that only a network in tflite8 can answer. */
static failure_t refuse_graph(const engine_t *engine) {
    return engine_layers(engine) > 0 ? graph_other_format() : refusal(FAILURE_NO_NETWORK, 0, 0);
}

/* Requests to a network in bfp8, or to none. */
static failure_t answer_bfp8(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    engine_t *engine = &trainer->engine;
    switch (request->type) {
    case MSG_LOAD_DATA: return load_data(engine, request);
    case MSG_LOAD_END: return load_end(trainer, reply);
    case MSG_CONFIGURE: return request_configure(engine, request->body, reply);
    case MSG_SAMPLES: return request_samples(engine, request);
    case MSG_STEP: return request_step(engine, request->body, reply);
    case MSG_PART: return request_part(engine, request->body, reply);
    case MSG_RUN: return request_run(engine, trainer->pulses, request->body, reply);
    case MSG_LAPS: return request_laps(engine, reply);
    case MSG_STRETCHES: return request_stretches(engine, reply);
    case MSG_PROFILE: return request_profile(engine, reply);
    case MSG_BOOKINGS: return request_bookings(&engine->model.watch, reply);
    case MSG_INFER: return request_infer(engine, request->body, reply);
    case MSG_READ_TENSOR: return read_tensor(engine, request->body, reply);
    case MSG_TRACE: return trace_sample(engine, request->body, reply);
    case MSG_MLPERF_TINY: return mlperf_tiny(trainer, request->body);
    case MSG_DIGESTS: return digests(engine, reply);
    default: return refuse_graph(engine);
    }
}

static failure_t carry_out(trainer_t *trainer, const link_request_t *request, link_reply_t *reply) {
    switch (request->type) {
    case MSG_LOAD_BEGIN: return load_begin(trainer, request->body);
    case MSG_USE_FLASH: return use_flash(trainer, request->body, reply);
    case MSG_MARKER: return marker(trainer, request->body);
    case MSG_CHECKPOINTS: return checkpoint_list(reply);
    case MSG_SAVE_CHECKPOINT: return checkpoint_save(trainer, request->body, reply);
    case MSG_LOAD_CHECKPOINT: return checkpoint_load(trainer, request->body, reply);
    default: break;
    }
    return trainer->has_graph ? graph_request(&trainer->graph, trainer->pulses, request, reply)
                              : answer_bfp8(trainer, request, reply);
}

static link_error_t execute(void *context, const link_request_t *request, link_reply_t *reply) {
    size_t fixed;
    bool open;
    if (!body_shape(request->type, &fixed, &open)) {
        return link_unknown(request);
    }
    if (request->length < fixed || (request->length > fixed && !open)) {
        return link_bad_length(request, fixed);
    }
    const failure_t outcome = carry_out(context, request, reply);
    return (link_error_t){.code = outcome.code, .a = outcome.a, .b = outcome.b};
}

static void begin_session(void *context) {
    trainer_t *trainer = context;
    mlperf_tiny_end(&trainer->tiny);
    if (trainer->pulses) {
        trainer->pulses = false;
        port_marker(false);
    }
    begin_bfp8(trainer);
}

static uint32_t arena_peak(const void *context) {
    const trainer_t *trainer = context;
    return trainer->has_graph ? graph_engine_arena_peak(&trainer->graph) : engine_arena_peak(&trainer->engine);
}

static void received(void *context, const uint8_t *bytes, size_t n) {
    trainer_t *trainer = context;
    mlperf_tiny_receive(&trainer->tiny, bytes, n);
}

agent_engine_t trainer_start(trainer_t *trainer) {
    begin_bfp8(trainer);
    return (agent_engine_t){
        .begin_session = begin_session,
        .execute = execute,
        .arena_peak = arena_peak,
        .received = received,
        .context = trainer,
    };
}
