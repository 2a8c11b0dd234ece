/* The rig's own engines behind the agent: networks by the methods of docs/arithmetic.md and docs/arithmetic-zeroth-order.md. */
#ifndef TRAINER_H
#define TRAINER_H

#include <stdbool.h>

#include "agent/agent.h"
#include "graph/engine.h"
#include "net/engine.h"
#include "trainer/mlperf_tiny.h"

/* A session has one network, in bfp8 or in tflite8; a file is received by the engine of bfp8. */
typedef struct {
    union {
        engine_t engine;
        graph_engine_t graph;
    };
    bool has_graph; /* the network is in tflite8 */
    mlperf_tiny_t tiny;
    bool pulses; /* windows lie between two pulses of the marker, not between two edges */
} trainer_t;

/* Give the engine the whole arena, and return the trainer as the agent wants it. */
agent_engine_t trainer_start(trainer_t *trainer);

#endif
