/* The agent: greets the host, answers for the board, and hands what trains to an engine. A firmware of one's own takes this folder, gives it a
   port (port.h) and an engine (docs/own-firmware.md). */
#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/link.h"

/* What trains. `context` is passed to each function. */
typedef struct {
    /* Forget what the last session loaded: a new one has begun. */
    void (*begin_session)(void *context);
    /* Execute any request but hello, echo, memory and boot_loader; link_unknown() for those that the engine does not have. */
    link_error_t (*execute)(void *context, const link_request_t *request, link_reply_t *reply);
    /* The arena from its start to the highest byte in use so far, in bytes. */
    uint32_t (*arena_peak)(const void *context);
    /* See the bytes that have arrived, once the link has taken its frames from them; may be NULL. */
    void (*received)(void *context, const uint8_t *bytes, size_t n);
    void *context;
} agent_engine_t;

typedef struct {
    link_t link;
    link_handler_t handler;
    const agent_engine_t *engine;
    uint32_t image_digest;
    bool leaving; /* for the boot loader, once the answer has been sent */
} agent_t;

/* Begin with no session. `engine` is kept. Behind port_init(). */
void agent_init(agent_t *agent, const agent_engine_t *engine);

/* Answer everything that has arrived; returns the number of bytes taken. */
size_t agent_poll(agent_t *agent);

#endif
