/* The requests to a network in tflite8 (docs/link.md): bodies of messages on one side, the engine on the other. */
#ifndef GRAPH_REQUESTS_H
#define GRAPH_REQUESTS_H

#include "agent/link.h"
#include "graph/engine.h"

/* The reply to `load_end` and `use_flash`. */
void graph_put_loaded(const graph_engine_t *engine, link_reply_t *reply);

/* Everything but loading. */
failure_t graph_request(graph_engine_t *engine, bool pulses, const link_request_t *request, link_reply_t *reply);

#endif
