/* The rig's own engine behind the agent: networks in the formats and by the methods of registry.h. */
#pragma once

#include <stdbool.h>

#include "agent/agent.h"
#include "engine/engine.h"
#include "trainer/mlperf_tiny.h"

typedef struct {
    engine_t engine;
    mlperf_tiny_t tiny;
    bool pulses; /* windows lie between two pulses of the marker, not between two edges */
} trainer_t;

/* Give the engine the whole arena, and return the trainer as the agent wants it. */
agent_engine_t trainer_start(trainer_t *trainer);
