/* The command loop: requests from the link, answers from the engine. */
#ifndef AGENT_H
#define AGENT_H

#include <stdint.h>

#include "agent/link.h"
#include "agent/mlperf_tiny.h"
#include "net/engine.h"

typedef struct {
    link_t link;
    link_handler_t handler;
    engine_t engine;
    mlperf_tiny_t tiny;
    uint32_t image_digest;
} agent_t;

/* Begin with no session, no network and an unused arena. */
void agent_init(agent_t *agent);

/* Answer everything that has arrived; returns the number of bytes taken. */
size_t agent_poll(agent_t *agent);

/* Execute one request; the handler of the link. */
failure_t agent_execute(void *agent, const link_request_t *request, link_reply_t *reply);

#endif
