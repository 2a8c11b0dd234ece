#include "agent/agent.h"

#include <string.h>

#include "agent/memory.h"
#include "agent/port.h"

enum { LAST_WORDS_MS = 50 }; /* twice what a full queue of serial.c, 2 KB, takes at 921,600 baud */

static link_error_t memory(const agent_t *agent, link_reply_t *reply) {
    const memory_range_t arena = memory_arena();
    const memory_range_t stack = memory_stack();
    const msg_memory_reply_t answer = {
        .static_bytes = memory_static(),
        .arena_base = (uint32_t)(uintptr_t)arena.base,
        .arena_size = arena.size,
        .arena_peak = agent->engine->arena_peak(agent->engine->context),
        .stack_base = (uint32_t)(uintptr_t)stack.base,
        .stack_size = stack.size,
        .stack_peak = memory_stack_peak(),
    };
    link_put_reply(reply, &answer, sizeof answer);
    return link_no_error();
}

static link_error_t boot_loader(agent_t *agent) {
    agent->leaving = port_has_boot_loader();
    return agent->leaving ? link_no_error() : (link_error_t){.code = MSG_ERROR_NO_BOOT_LOADER};
}

static link_error_t execute(void *context, const link_request_t *request, link_reply_t *reply) {
    agent_t *agent = context;
    switch (request->type) {
    case MSG_ECHO: link_put_reply(reply, request->body, request->length); return link_no_error();
    case MSG_MEMORY: return request->length == 0 ? memory(agent, reply) : link_bad_length(request, 0);
    case MSG_BOOT_LOADER: return request->length == 0 ? boot_loader(agent) : link_bad_length(request, 0);
    default: return agent->engine->execute(agent->engine->context, request, reply);
    }
}

static void begin_session(void *context) {
    const agent_t *agent = context;
    port_counter_restart();
    agent->engine->begin_session(agent->engine->context);
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

void agent_init(agent_t *agent, const agent_engine_t *engine) {
    agent->handler =
        (link_handler_t){.begin_session = begin_session, .identify = identify, .execute = execute, .context = agent};
    agent->engine = engine;
    agent->image_digest = memory_image_digest();
    agent->leaving = false;
    link_init(&agent->link, &agent->handler, port_uart_write);
}

size_t agent_poll(agent_t *agent) {
    uint8_t bytes[256];
    const size_t n = port_uart_read(bytes, sizeof bytes);
    link_receive(&agent->link, bytes, n);
    if (agent->leaving) {
        agent->leaving = false;
        port_sleep_ms(LAST_WORDS_MS);
        port_enter_boot_loader();
    }
    if (agent->engine->received != NULL) {
        agent->engine->received(agent->engine->context, bytes, n);
    }
    return n;
}
