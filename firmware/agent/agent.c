#include "agent/agent.h"

#include <string.h>

#include "agent/memory.h"
#include "agent/requests.h"
#include "agent/port.h"

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

static failure_t bad_length(const link_request_t *request, size_t expected) {
    return refusal(FAILURE_BAD_LENGTH, (uint32_t)request->length, (uint32_t)expected);
}

static failure_t load_begin(agent_t *agent, const uint8_t *body) {
    msg_load_begin_request_t fields;
    memcpy(&fields, body, sizeof fields);
    return engine_load_begin(&agent->engine, fields.total);
}

static failure_t load_data(agent_t *agent, const link_request_t *request) {
    msg_load_data_request_t fields;
    memcpy(&fields, request->body, sizeof fields);
    const size_t n = request->length - sizeof fields;
    return engine_load_data(&agent->engine, fields.offset, request->body + sizeof fields, (uint32_t)n);
}

static failure_t load_end(agent_t *agent, link_reply_t *reply) {
    const failure_t outcome = engine_load_end(&agent->engine);
    if (outcome.code == 0) {
        const msg_load_end_reply_t fields = {
            .network_digest = engine_network_digest(&agent->engine),
            .tensors = engine_tensors(&agent->engine),
            .layers = engine_layers(&agent->engine),
        };
        request_put_reply(reply, &fields, sizeof fields);
    }
    return outcome;
}

static failure_t read_tensor(agent_t *agent, const uint8_t *body, link_reply_t *reply) {
    msg_read_tensor_request_t fields;
    memcpy(&fields, body, sizeof fields);
    if (fields.length > MSG_MAX_BODY) {
        return refusal(FAILURE_BAD_TENSOR, fields.tensor, fields.offset);
    }
    const failure_t outcome =
        engine_read_tensor(&agent->engine, fields.tensor, fields.offset, fields.length, reply->body);
    if (outcome.code == 0) {
        reply->length = fields.length;
    }
    return outcome;
}

static failure_t memory(agent_t *agent, link_reply_t *reply) {
    const memory_range_t arena = memory_arena();
    const memory_range_t stack = memory_stack();
    const msg_memory_reply_t answer = {
        .static_bytes = memory_static(),
        .arena_base = (uint32_t)(uintptr_t)arena.base,
        .arena_size = arena.size,
        .arena_peak = engine_arena_peak(&agent->engine),
        .stack_base = (uint32_t)(uintptr_t)stack.base,
        .stack_size = stack.size,
        .stack_peak = memory_stack_peak(),
    };
    request_put_reply(reply, &answer, sizeof answer);
    return no_failure();
}

static failure_t digests(agent_t *agent, link_reply_t *reply) {
    uint32_t words[ENGINE_MAX_TENSORS];
    const failure_t outcome = engine_digests(&agent->engine, words);
    if (outcome.code == 0) {
        request_put_reply(reply, words, engine_tensors(&agent->engine) * sizeof words[0]);
    }
    return outcome;
}

static failure_t trace_sample(agent_t *agent, const uint8_t *body, link_reply_t *reply) {
    enum { BLOCK = 1000 }; /* docs/link.md: at most so many bytes of a stage */
    msg_trace_request_t fields;
    memcpy(&fields, body, sizeof fields);
    uint32_t length = BLOCK;
    const failure_t outcome =
        engine_trace(&agent->engine, fields.slot, fields.stage, fields.offset, reply->body, &length);
    if (outcome.code == 0) {
        reply->length = length;
    }
    return outcome;
}

static failure_t mlperf_tiny(agent_t *agent, const uint8_t *body) {
    msg_mlperf_tiny_request_t fields;
    memcpy(&fields, body, sizeof fields);
    mlperf_tiny_begin(&agent->tiny, &agent->engine, &fields);
    return no_failure();
}

static failure_t echo(const link_request_t *request, link_reply_t *reply) {
    request_put_reply(reply, request->body, request->length);
    return no_failure();
}

/* The fixed part of a request's body in bytes, and whether more may follow it; false: no such request. */
static bool body_shape(uint8_t type, size_t *fixed, bool *open) {
    *open = type == MSG_LOAD_DATA || type == MSG_SAMPLES || type == MSG_ECHO;
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
    case MSG_MLPERF_TINY: *fixed = sizeof(msg_mlperf_tiny_request_t); return true;
    case MSG_LOAD_END:
    case MSG_LAPS:
    case MSG_PROFILE:
    case MSG_BOOKINGS:
    case MSG_MEMORY:
    case MSG_DIGESTS:
    case MSG_ECHO: *fixed = 0; return true;
    default: return false;
    }
}

failure_t agent_execute(void *context, const link_request_t *request, link_reply_t *reply) {
    agent_t *agent = context;
    size_t fixed;
    bool open;
    if (!body_shape(request->type, &fixed, &open)) {
        return (failure_t){.code = MSG_ERROR_UNKNOWN_REQUEST, .a = request->type, .b = 0};
    }
    if (request->length < fixed || (request->length > fixed && !open)) {
        return bad_length(request, fixed);
    }
    switch (request->type) {
    case MSG_LOAD_BEGIN: return load_begin(agent, request->body);
    case MSG_LOAD_DATA: return load_data(agent, request);
    case MSG_LOAD_END: return load_end(agent, reply);
    case MSG_CONFIGURE: return request_configure(agent, request->body, reply);
    case MSG_SAMPLES: return request_samples(agent, request);
    case MSG_STEP: return request_step(agent, request->body, reply);
    case MSG_PART: return request_part(agent, request->body, reply);
    case MSG_RUN: return request_run(agent, request->body, reply);
    case MSG_LAPS: return request_laps(agent, reply);
    case MSG_PROFILE: return request_profile(agent, reply);
    case MSG_BOOKINGS: return request_bookings(agent, reply);
    case MSG_INFER: return request_infer(agent, request->body, reply);
    case MSG_READ_TENSOR: return read_tensor(agent, request->body, reply);
    case MSG_TRACE: return trace_sample(agent, request->body, reply);
    case MSG_MEMORY: return memory(agent, reply);
    case MSG_DIGESTS: return digests(agent, reply);
    case MSG_MLPERF_TINY: return mlperf_tiny(agent, request->body);
    default: return echo(request, reply);
    }
}

static void begin_session(void *context) {
    agent_t *agent = context;
    port_counter_restart();
    mlperf_tiny_end(&agent->tiny);
    engine_reset(&agent->engine);
}

static void identify(void *context, msg_hello_reply_t *reply) {
    const agent_t *agent = context;
    const memory_range_t image = memory_image();
    const char *name = port_board_name();
    for (size_t i = 0; i < sizeof reply->board; i++) {
        reply->board[i] = (uint8_t)*name;
        name += *name != '\0'; /* the rest of the field is zeros */
    }
    reply->clock_hz = port_clock_hz();
    reply->cpuid = port_cpuid();
    reply->image_base = (uint32_t)(uintptr_t)image.base;
    reply->image_size = image.size;
    reply->image_digest = agent->image_digest;
    reply->rx_window = port_rx_window();
    reply->counter = port_counter();
}

void agent_init(agent_t *agent) {
    const memory_range_t arena = memory_arena();
    agent->handler = (link_handler_t){
        .begin_session = begin_session, .identify = identify, .execute = agent_execute, .context = agent};
    agent->image_digest = memory_image_digest();
    engine_init(&agent->engine, arena.base, arena.size, port_cycles);
    link_init(&agent->link, &agent->handler, port_uart_write);
}

size_t agent_poll(agent_t *agent) {
    uint8_t bytes[256];
    const size_t n = port_uart_read(bytes, sizeof bytes);
    link_receive(&agent->link, bytes, n);
    mlperf_tiny_receive(&agent->tiny, bytes, n);
    return n;
}
