/* Placing the buffers of a start: docs/memory-graph.md, placement. */
#ifndef GRAPH_PLACEMENT_H
#define GRAPH_PLACEMENT_H

#include "graph/schedule.h"

/* The bytes of all buffers that do not always live, side by side. */
uint64_t sum_of_sizes(const schedule_t *schedule);

/* Place the buffers of a start; plan->at is that of the start before. Values that are kept are moved in the `arena`, unless it is NULL. */
void place_start(graph_plan_t *plan, const schedule_t *schedule, start_t start, uint8_t *arena);

#endif
