/* The tasks of MLPerf Tiny: what the bytes of a sample are and what the result is (docs/measure.md). */
#pragma once

#include <stdint.h>

#include "engine/engine.h"

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
