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

/* The tasks: what the bytes of a sample are and what the result is. */
enum mlperf_task { TASK_IMAGES, TASK_FEATURES, TASK_RECONSTRUCTION, TASKS };

/* The bytes of a sample; 0 without a configured network for the task, in the slots that it needs. */
uint32_t task_sample_bytes(const engine_t *engine, uint8_t task);

/* Where the bytes of a sample lie as they came, so that they can be printed and inferred again. */
uint8_t *task_received(const engine_t *engine);

/* Make the received bytes the sample in slot 0. */
void task_put_sample(engine_t *engine, uint8_t task);

/* The number of results of an inference, and result i of it. */
uint32_t task_results(const engine_t *engine, uint8_t task);
float task_result(const engine_t *engine, uint8_t task, uint32_t i);
