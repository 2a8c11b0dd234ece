/* The requests that train and evaluate (docs/link.md): bodies of messages on one side, the engine on the other. */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <stddef.h>

#include "agent/agent.h"

/* Make `size` bytes the whole reply. */
void request_put_reply(link_reply_t *reply, const void *fields, size_t size);

failure_t request_configure(agent_t *agent, const uint8_t *body, link_reply_t *reply);
failure_t request_samples(agent_t *agent, const link_request_t *request);
failure_t request_step(agent_t *agent, const uint8_t *body, link_reply_t *reply);
failure_t request_part(agent_t *agent, const uint8_t *body, link_reply_t *reply);
failure_t request_run(agent_t *agent, const uint8_t *body, link_reply_t *reply);
failure_t request_infer(agent_t *agent, const uint8_t *body, link_reply_t *reply);

/* Cycles of each step of the last run, by layer of the last step or run, and of bookings with nothing to book. */
failure_t request_laps(const agent_t *agent, link_reply_t *reply);
failure_t request_profile(const agent_t *agent, link_reply_t *reply);
failure_t request_bookings(agent_t *agent, link_reply_t *reply);

#endif
