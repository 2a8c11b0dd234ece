/* The serial commands of MLPerf Tiny for inference (docs/measure.md), which share the serial line with
   the link. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/messages.h"
#include "engine/engine.h"

enum { MLPERF_TINY_LINE = 80 }; /* the longest command that their firmware takes */

typedef struct {
    engine_t *engine;
    msg_mlperf_tiny_request_t asked; /* whether timestamps are edges of the marker, the task, and the model's name */
    bool listening;
    bool inferred;  /* the input that is loaded, so that there are results */
    uint8_t length; /* of the command under way */
    char line[MLPERF_TINY_LINE + 1];
    uint32_t expected, loaded; /* bytes of input: announced by `db load`, and received */
    uint32_t us, rest;         /* time spent in inferences: microseconds, and the cycles of a part of one */
} mlperf_tiny_t;

/* Answer commands from now on, or no longer. A task that there is not is refused. */
failure_t mlperf_tiny_begin(mlperf_tiny_t *tiny, engine_t *engine, const msg_mlperf_tiny_request_t *asked);
void mlperf_tiny_end(mlperf_tiny_t *tiny);

/* Take received bytes, those of frames too; executes and answers every command that they complete. */
void mlperf_tiny_receive(mlperf_tiny_t *tiny, const uint8_t *bytes, size_t n);

/* Mark a moment for their runner: pull the marker, which is high at rest, low for two microseconds. The falling edge is
   the moment. */
void mlperf_tiny_pulse(void);
