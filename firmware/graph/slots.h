/* The samples that the board holds: docs/memory-graph.md, `labels` and `samples`. */
#ifndef GRAPH_SLOTS_H
#define GRAPH_SLOTS_H

#include "graph/engine.h"

/* Count all slots, or one, as empty. */
void graph_slots_empty(graph_engine_t *engine);
void graph_slot_empty(graph_engine_t *engine, uint16_t slot);

/* Whether slots 0..count-1 hold samples; whether one does. */
failure_t graph_slots_check(const graph_engine_t *engine, uint16_t count);
bool graph_slot_holds(const graph_engine_t *engine, uint16_t slot);

#endif
