/* The agent: greets the host, answers questions about the board, and passes all other requests to an engine. Your own
   firmware can use this folder with a port (port.h) and an engine of its own (docs/own-firmware.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/link.h"

/* The training engine. `context` is passed to each function. */
typedef struct {
    /* A new session has begun: discard everything that the last one loaded. */
    void (*begin_session)(void *context);
    /* Execute any request except hello, echo, memory and boot_loader. Return link_unknown() for requests that the
       engine does not know. */
    link_error_t (*execute)(void *context, const link_request_t *request, link_reply_t *reply);
    /* Return the high-water mark of the arena in bytes, from its start. */
    uint32_t (*arena_peak)(const void *context);
    /* Called with the received bytes after the link has read its frames from them; may be NULL. */
    void (*received)(void *context, const uint8_t *bytes, size_t n);
    void *context;
} agent_engine_t;

typedef struct {
    link_t link;
    link_handler_t handler;
    const agent_engine_t *engine;
    uint32_t image_digest;
    bool leaving; /* enter the boot loader once the reply has been sent */
} agent_t;

/* Begin without a session, after port_init(). `engine` must stay valid. */
void agent_init(agent_t *agent, const agent_engine_t *engine);

/* Answer all requests that have arrived. Returns the number of bytes read. */
size_t agent_poll(agent_t *agent);
