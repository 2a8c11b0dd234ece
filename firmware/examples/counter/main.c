/* A firmware of your own, as small as one that trains something can be: 64 weights, and a step adds 1 to one of them.
   It speaks the whole link protocol through firmware/agent and knows three requests; the rest it refuses
   (docs/own-firmware.md). */
#include <string.h>

#include "agent/agent.h"
#include "agent/fault.h"
#include "agent/port.h"
#include "arith/xxh32.h"

enum { WEIGHTS = 64 };

static uint8_t weights[WEIGHTS];
static uint32_t next_step;

static void put_digest(link_reply_t *reply) {
    const uint32_t digest = xxh32(weights, sizeof weights, 0);
    memcpy(reply->body + reply->length, &digest, sizeof digest);
    reply->length += sizeof digest;
}

static link_error_t step(const link_request_t *request, link_reply_t *reply) {
    const msg_step_request_t *fields = (const void *)request->body;
    if (request->length != sizeof *fields) {
        return link_bad_length(request, sizeof *fields);
    }
    if (fields->step != next_step) {
        return (link_error_t){.code = MSG_ERROR_OUT_OF_ORDER, .a = fields->step, .b = next_step};
    }
    const uint32_t start = port_cycles();
    weights[next_step++ % WEIGHTS]++;
    const msg_step_reply_t answer = {.step = fields->step, .cycles_update = port_cycles() - start};
    link_put_reply(reply, &answer, sizeof answer);
    put_digest(reply);
    return link_no_error();
}

static link_error_t read_tensor(const link_request_t *request, link_reply_t *reply) {
    const msg_read_tensor_request_t *fields = (const void *)request->body;
    if (request->length != sizeof *fields) {
        return link_bad_length(request, sizeof *fields);
    }
    if (fields->tensor != 0 || fields->offset > WEIGHTS || fields->length > WEIGHTS - fields->offset) {
        return (link_error_t){.code = MSG_ERROR_BAD_TENSOR, .a = fields->tensor, .b = fields->offset};
    }
    link_put_reply(reply, weights + fields->offset, fields->length);
    return link_no_error();
}

static link_error_t execute(void *context, const link_request_t *request, link_reply_t *reply) {
    (void)context;
    switch (request->type) {
    case MSG_STEP: return step(request, reply);
    case MSG_DIGESTS: put_digest(reply); return link_no_error();
    case MSG_READ_TENSOR: return read_tensor(request, reply);
    default: return link_unknown(request);
    }
}

static void begin_session(void *context) {
    (void)context;
    memset(weights, 0, sizeof weights);
    next_step = 0;
}

static uint32_t arena_peak(const void *context) {
    (void)context;
    return 0; /* the weights lie in .bss */
}

int main(void) {
    static agent_t agent;
    static const agent_engine_t counter = {
        .begin_session = begin_session, .execute = execute, .arena_peak = arena_peak};
    port_init();
    agent_init(&agent, &counter);
    fault_watch(&agent.link);
    for (;;) {
        if (agent_poll(&agent) == 0) {
            port_wait(); /* a program's own work goes here */
        }
    }
}
