/* The training engine: a network in an arena, or in flash, trained step by step. It does not allocate, does not block
   and does no input or output. The caller owns the engine_t, the arena and the cycle counter. */
#pragma once

#include "engine/format.h"
#include "engine/method.h"

/* Samples that stay, whatever network is loaded: label (u16), pixels, label, pixels, ... */
typedef struct {
    const uint8_t *samples;
    uint32_t bytes;
    uint32_t in_ram; /* bytes of RAM in front of the arena that samples take */
} kept_samples_t;

typedef struct {
    const format_t *const *formats; /* formats that a network may have; NULL ends them */
    uint32_t arena_size;            /* bytes */
    kept_samples_t kept;
    uint32_t total, received; /* bytes of a network file in the arena; total is 0 when none was begun */
    model_t model;
    training_t copied; /* what was last copied out of a file in flash; `layers` is 0 when nothing was */
    step_t under_way;  /* the next step, or as much of it as has been trained */
    bool written;      /* a trained tensor was, since the last step or beginning */
    uint16_t filling;  /* the slot that takes a sample in pieces, its first value, and the bytes that it has */
    uint8_t first_value[2];
    uint32_t filled;
    lap_t laps[ENGINE_MAX_LAPS];
    uint16_t lap_count;
} engine_t;

/* `arena` is aligned to 8 bytes; `cycles` returns a free-running counter. */
void engine_init(engine_t *engine, const format_t *const *formats, uint8_t *arena, uint32_t arena_size,
                 uint32_t (*cycles)(void));

/* Forget network and settings, but no samples that are kept. */
void engine_reset(engine_t *engine);

/* Load a network file (docs/network.md): its pieces in order of offset, then the checks. */
failure_t engine_load_begin(engine_t *engine, uint32_t total);
failure_t engine_load_data(engine_t *engine, uint32_t offset, const uint8_t *data, uint32_t n);
failure_t engine_load_end(engine_t *engine);

/* Use a network file of `size` bytes that stays in flash, if its format can. */
failure_t engine_use_flash(engine_t *engine, const uint8_t *file, uint32_t size);

/* Place the buffers and continue at step `first_step`, by a method with its settings. Trained values stay as they are,
   but a file in flash begins again with its own values if the former settings trained other tensors. Settings that
   follow the schedule (docs/link.md, requests of a trial) leave the buffers and what is in them as they are: they only
   change what is scheduled, and `first_step` of those in force stays that of the beginning. `planned`: bytes of the
   memory plan, and of the samples that are kept in front of the arena. */
failure_t engine_configure(engine_t *engine, const method_t *method, const void *settings, uint32_t *planned);

/* Checks before a request, each with those before it: there is a network; there are settings; no step has begun, whose
   weights are perturbed; and slots 0..count-1 hold samples. */
failure_t engine_check_network(const engine_t *engine);
failure_t engine_check_configured(const engine_t *engine);
failure_t engine_check_whole(const engine_t *engine);
failure_t engine_check_at_rest(const engine_t *engine, uint16_t count);

/* Fill a slot of the batch with a label and `n` pixels, 0..255 in the order height, width, channel; or with the piece
   of them that begins at `offset`, where the format takes pieces. */
failure_t engine_put_sample(engine_t *engine, uint16_t slot, uint16_t label, const uint8_t *pixels, uint32_t n);
failure_t engine_put_part(engine_t *engine, uint16_t slot, uint16_t label, uint32_t offset, const uint8_t *pixels,
                          uint32_t n);

/* Keep `bytes` bytes of samples: those that engine_load_data has brought, from behind which the arena goes on; or those
   in flash. Fill slots from `slot` on with kept samples: `n` bytes, at any address, are their numbers, of 4 bytes
   each. */
failure_t engine_keep_loaded(engine_t *engine, uint32_t bytes);
void engine_keep_flash(engine_t *engine, const uint8_t *samples, uint32_t bytes);
failure_t engine_put_kept(engine_t *engine, uint16_t slot, const uint8_t *numbers, uint32_t n);

/* Take the samples in slots 0..count-1 through a pass of a step, as samples first..first+count-1 of its batch.
   engine_step then ends the step; `count` is that of all its samples. */
failure_t engine_part(engine_t *engine, uint32_t step, uint8_t pass, uint16_t first, uint16_t count);

/* Train with, or evaluate, the samples in slots 0..count-1; afterwards all slots count as empty. `digests` takes the
   XXH32 of every trained tensor after the step, of 4 bytes each, at any address. */
failure_t engine_step(engine_t *engine, uint32_t step, uint16_t count, step_result_t *result, void *digests);
failure_t engine_infer(engine_t *engine, uint16_t count, infer_result_t *result);

/* Whether `steps` steps may be trained on the samples in slots 0..count-1; and train them. `laps` has the cycles of
   each of the first ENGINE_MAX_LAPS. Losses and sign are those of the last. A step that fails is the last, and its
   failure is returned. engine_report then adds cycles and
   digests, and empties the slots: what belongs to no step is not done between the steps. */
failure_t engine_check_run(const engine_t *engine, uint32_t step, uint16_t steps, uint16_t count);
failure_t engine_run(engine_t *engine, uint16_t steps, uint16_t count, step_result_t *result);
void engine_report(engine_t *engine, step_result_t *result, void *digests);

/* The forward pass of the sample in a slot, which stays filled; the logits are then in the model. */
failure_t engine_forward(engine_t *engine, uint16_t slot);

/* Trace the sample in a slot (engine/trace.h), which stays filled unless it is consumed. With TRACE_ALL_STAGES `out`
   takes the digest of every stage, else the bytes of one stage from `offset` on. `length`: room of `out`, then the
   bytes written. */
failure_t engine_trace(engine_t *engine, uint16_t slot, uint16_t stage, uint32_t offset, uint8_t *out,
                       uint32_t *length);

/* XXH32 of every trained tensor as it is now, as for engine_step. */
failure_t engine_digests(const engine_t *engine, void *digests);

/* Copy `length` bytes of a trained tensor from byte `offset` on. */
failure_t engine_read_tensor(const engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length, uint8_t *out);

/* Put `length` bytes into a trained tensor, from byte `offset` on, while no step is half done. No value that
   the format does not have is taken. */
failure_t engine_write_tensor(engine_t *engine, uint8_t tensor, uint32_t offset, uint32_t length, const uint8_t *data);

/* The arena from its start to the highest byte that was written since the buffers were placed, in bytes, with the
   samples that are kept in front of it. */
uint32_t engine_arena_peak(const engine_t *engine);

/* Between the files of the engine, slots.c: the samples that the board holds. A sample may come in pieces: its slot
   counts as empty until the last is there. */

/* Count all slots, or one, as empty. */
void slots_empty(engine_t *engine);
void slot_empty(engine_t *engine, uint16_t slot);

/* Whether slots 0..count-1 hold samples; whether one does. */
failure_t slots_check(const engine_t *engine, uint16_t count);
bool slot_holds(const engine_t *engine, uint16_t slot);

/* The slots from 0 on that hold samples without a gap. */
uint16_t slots_filled(const engine_t *engine);

/* The label of the sample in a slot. */
uint16_t slot_label(const engine_t *engine, uint16_t slot);
