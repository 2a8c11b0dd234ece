/* What the tests of training share: batches, settings, and an engine that trains on them. */
#pragma once

#include "chain_made.h"
#include "engine/engine.h"
#include "methods/elasticzo_int8.h"

typedef struct {
    uint8_t *pixels, *labels;
    int8_t *inputs; /* the pixels as the text turns them into int8 */
    uint32_t count, elements;
} batch_t;

batch_t draw_batch(const graph_file_t *file, uint32_t count);
void free_batch(batch_t *batch);

/* Any settings that go together, for a network of which the first `partition` tensors are trained by zeroth order. */
elasticzo_settings_t draw_settings(uint8_t partition);

/* An engine with its network loaded and its settings made, in an arena of exactly the planned size: one byte more
   shows. */
typedef struct {
    engine_t *engine;
    uint8_t *arena;
    uint32_t planned;
} trainee_t;

trainee_t trainee_begin(const graph_made_t *file, const elasticzo_settings_t *settings, uint32_t (*cycles)(void));
void trainee_end(trainee_t *trainee);

/* Put samples first..first+count-1 of the batch into slots 0..count-1. */
void put_samples(engine_t *engine, const batch_t *batch, uint32_t first, uint32_t count);

/* What a step reports, with the digests of the trained tensors. */
typedef struct {
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS];
} trained_t;

/* One step, its samples all in slots; and one whose samples come in parts of any size that the slots can hold. */
trained_t step_at_once(engine_t *engine, uint32_t step, const batch_t *batch);
trained_t step_in_parts(engine_t *engine, uint32_t step, const batch_t *batch);
