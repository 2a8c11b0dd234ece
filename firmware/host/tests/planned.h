/* The plan of a made chain, and the buffers that it placed. */
#pragma once

#include "graph_made.h"
#include "trainee.h"

typedef struct {
    model_t model;
    placing_t placed; /* by size, the largest first */
    buffer_t buffer[PLAN_MAX_BUFFERS];
} planned_t;

planned_t *planned_open(const graph_made_t *made);

/* Make the plan, and see what was placed. Returns what it needs. */
uint32_t planned_make(planned_t *planned, elasticzo_settings_t settings);
