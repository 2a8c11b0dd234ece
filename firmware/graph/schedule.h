/* When the buffers of the plan are in use: docs/memory-graph.md, groups and starts. */
#ifndef GRAPH_SCHEDULE_H
#define GRAPH_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/plan.h"

typedef struct {
    const graph_file_t *file;
    const graph_training_t *training;
    uint8_t n, first;                /* layers; the first start, 0 model-wise */
    bool model_wise, consumes, coordinates; /* `coordinates`: of deepzero */
    uint8_t last_use[PLAN_PLACES];   /* c(v) */
} schedule_t;

void schedule_make(schedule_t *schedule, const graph_file_t *file, const graph_settings_t *settings, const graph_training_t *training);

/* Whether two buffers are in use in the same slot of any start: the i-th of a line each. */
bool schedule_conflict(const schedule_t *schedule, uint8_t line, uint8_t i, uint8_t other_line, uint8_t other_i);

#endif
