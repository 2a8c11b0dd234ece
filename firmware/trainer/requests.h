/* The requests that train and evaluate (docs/link.md): bodies of messages on one side, the engine on the other. */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "agent/link.h"
#include "net/engine.h"

/* The reply to `step` and `run`: with the digests of `tensors` trained tensors. */
void request_put_step(const step_result_t *result, const uint32_t *digests, uint8_t tensors, link_reply_t *reply);

failure_t request_configure(engine_t *engine, const uint8_t *body, link_reply_t *reply);
failure_t request_samples(engine_t *engine, const link_request_t *request);
failure_t request_step(engine_t *engine, const uint8_t *body, link_reply_t *reply);
failure_t request_part(engine_t *engine, const uint8_t *body, link_reply_t *reply);
failure_t request_run(engine_t *engine, bool pulses, const uint8_t *body, link_reply_t *reply);
failure_t request_infer(engine_t *engine, const uint8_t *body, link_reply_t *reply);

/* Cycles of each step of the last run, of each stretch of a phase of the last step, by layer of the last step or run, and of bookings with nothing to
   book. */
failure_t request_laps(const engine_t *engine, link_reply_t *reply);
failure_t request_stretches(const engine_t *engine, link_reply_t *reply);
failure_t request_profile(const engine_t *engine, link_reply_t *reply);
failure_t request_bookings(stopwatch_t *watch, link_reply_t *reply);

#endif
