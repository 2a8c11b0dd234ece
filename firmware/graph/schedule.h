/* When the buffers of the plan are in use: docs/memory-graph.md. */
#ifndef GRAPH_SCHEDULE_H
#define GRAPH_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/plan.h"

/* A start, or the prefix: it runs the layers from..to - 1. Only the prefix does not run to the last. */
typedef struct {
    uint8_t from, to;
} start_t;

/* Slots, from the first to the last, each plus 1: the slot before the first layer is -1. Nothing: first > last. */
typedef struct {
    uint8_t first, last;
} interval_t;

typedef struct {
    const graph_file_t *file;
    const graph_training_t *training;
    uint8_t n;
    bool model_wise, consumes, coordinates,
        back;                      /* `coordinates`: of deepzero; `back`: bp, with one start, as the model-wise form */
    uint8_t last_use[PLAN_PLACES]; /* c(v) */
} schedule_t;

schedule_t schedule_of(const planned_t *planned);

/* The start from layer `l` on, or the next behind it; n where there is none. */
uint8_t schedule_start(const schedule_t *schedule, uint8_t l);

/* Whether a value is kept at a start. */
bool schedule_keeps(const schedule_t *schedule, uint8_t value, start_t start);

/* The slots in which the i-th buffer of a line, which is not kept, is in use. */
interval_t schedule_slots(const schedule_t *schedule, uint8_t line, uint8_t i, start_t start);

/* Those of a kept value. */
interval_t schedule_kept_slots(const schedule_t *schedule, uint8_t value, start_t start);

#endif
