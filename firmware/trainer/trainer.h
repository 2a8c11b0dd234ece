/* The training engine as the agent calls it, with the formats and methods of registry.h. */
#pragma once

#include <stdbool.h>

#include "agent/agent.h"
#include "engine/engine.h"
#include "trainer/mlperf_tiny.h"

typedef struct {
    engine_t engine;
    mlperf_tiny_t tiny;
    bool pulses; /* windows begin and end with a pulse of the marker, not with an edge */
} trainer_t;

/* Give the engine the whole arena, and return the functions that the agent calls. */
agent_engine_t trainer_start(trainer_t *trainer);
