/* The training engine of tflite8: a network in an arena or in flash, trained step by step. It does not
   allocate, does not block and does no input or output. The caller owns the graph_engine_t, the arena and the cycle counter. */
#ifndef GRAPH_ENGINE_H
#define GRAPH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/model.h"
#include "methods/graph_step.h"
#include "net/failure.h"
#include "net/training.h"

typedef struct {
    uint32_t arena_size; /* bytes */
    bool configured;
    graph_model_t model;
    graph_training_t copied; /* what was last copied out of a file in flash; `layers` is 0 when nothing was */
    graph_step_t under_way;  /* the next step, or as much of it as has been trained */
    bool limited;            /* what is trained lies where it rests: docs/arithmetic-zeroth-order.md, section 2 */
    uint16_t filling;        /* the slot that takes a sample in pieces, and the bytes that it has */
    uint32_t filled;
    lap_t laps[ENGINE_MAX_LAPS];
    uint16_t lap_count;
} graph_engine_t;

/* `arena` is aligned to 8 bytes; `cycles` returns a free-running counter. */
void graph_engine_init(graph_engine_t *engine, uint8_t *arena, uint32_t arena_size, uint32_t (*cycles)(void));

/* Use the network file of `size` bytes at the beginning of the arena; or one in flash, where it stays. */
failure_t graph_engine_use_arena(graph_engine_t *engine, uint32_t size);
failure_t graph_engine_use_flash(graph_engine_t *engine, const uint8_t *file, uint32_t size);

/* Place the buffers and go on at step `first_step`. What is trained stays as it is; but with a file in flash, where it was something else
   that was trained before, all begins as in the file. `planned`: bytes of the memory plan (docs/memory-graph.md). */
failure_t graph_engine_configure(graph_engine_t *engine, const graph_settings_t *settings, uint32_t *planned);

/* Whether there are a network and settings; and whether no step is half done, and slots 0..count-1 hold samples. */
failure_t graph_engine_check_configured(const graph_engine_t *engine);
failure_t graph_engine_check_at_rest(const graph_engine_t *engine, uint16_t count);

/* Fill a slot of the batch with a label and `n` pixels, 0..255 in the order height, width, channel; or with the piece of them that begins
   at `offset`. */
failure_t graph_engine_put_sample(graph_engine_t *engine, uint16_t slot, uint8_t label, const uint8_t *pixels,
                                  uint32_t n);
failure_t graph_engine_put_part(graph_engine_t *engine, uint16_t slot, uint8_t label, uint32_t offset,
                                const uint8_t *pixels, uint32_t n);

/* Take the samples in slots 0..count-1 through a step, as samples first..first+count-1 of its batch. graph_engine_step then ends the step;
   `count` is that of all its samples. There is one pass of parts, 0. */
failure_t graph_engine_part(graph_engine_t *engine, uint32_t step, uint8_t pass, uint16_t first, uint16_t count);

/* Train with, or evaluate, the samples in slots 0..count-1; afterwards all slots count as empty. `digests` has room for those of all
   trained tensors. */
failure_t graph_engine_step(graph_engine_t *engine, uint32_t step, uint16_t count, step_result_t *result,
                            uint32_t *digests);
failure_t graph_engine_infer(graph_engine_t *engine, uint16_t count, infer_result_t *result);

/* Whether `steps` steps may be trained on the samples in slots 0..count-1; and train them, as engine_run of net/engine.h does. */
failure_t graph_engine_check_run(const graph_engine_t *engine, uint32_t step, uint16_t steps, uint16_t count);
void graph_engine_run(graph_engine_t *engine, uint16_t steps, uint16_t count, step_result_t *result);
void graph_engine_report(graph_engine_t *engine, step_result_t *result, uint32_t *digests);

/* The outputs of the layers for the sample in a slot, which stays filled unless it is consumed: net/stages.h. `length`: room of `out`, then
   the bytes written. */
failure_t graph_engine_trace(graph_engine_t *engine, uint16_t slot, uint16_t stage, uint32_t offset, uint8_t *out,
                             uint32_t *length);

/* The trained tensors once there are settings; before, all that could be: weights and biases of every layer that has some. */
uint8_t graph_engine_tensors(const graph_engine_t *engine);

/* XXH32 of the trained tensors as they are now. */
failure_t graph_engine_digests(const graph_engine_t *engine, uint32_t *digests);

/* Copy `length` bytes of a trained tensor from byte `offset` on: int8 weights, or int32 biases. */
failure_t graph_engine_read_tensor(const graph_engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length,
                                   uint8_t *out);

/* Put `length` bytes into a trained tensor, from byte `offset` on, while no step is half done. No weight may become -128. */
failure_t graph_engine_write_tensor(graph_engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length,
                                    const uint8_t *data);

/* The arena from its start to the highest byte that was written since the last configure, in bytes. */
uint32_t graph_engine_arena_peak(const graph_engine_t *engine);

#endif
