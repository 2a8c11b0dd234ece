/* An engine of QuZO, or of perturbed scales, with a network of w16a8 or of tflite8, and what a step is, weight by weight
   and channel by channel, as docs/arithmetic-quzo.md has it. */
#pragma once

#include "engine/engine.h"
#include "methods/quzo.h"
#include "trainer/registry.h"

typedef struct {
    engine_t *engine;
    uint8_t *arena;
    quzo_settings_t settings;
    uint32_t planned;
} quzo_bench_t;

/* One direction, of two samples that are held at a time. */
extern const quzo_settings_t quzo_plain;

/* An engine with a network file, which is in flash or is copied to RAM. */
quzo_bench_t quzo_bench_of(uint8_t *bytes, uint32_t size, bool flash);
void quzo_bench_free(quzo_bench_t *bench);
failure_t quzo_configure(quzo_bench_t *bench, const quzo_settings_t *settings);

/* A step of `count` samples of a fixed sequence, in the slots at once, or one by one; digests go to `digests`. */
step_result_t quzo_step(quzo_bench_t *bench, uint32_t step, uint16_t count, bool at_once, uint32_t digests[]);

/* A digest of what three such steps give; the engine is freed. */
uint32_t quzo_outcome(quzo_bench_t *bench, uint16_t count, bool at_once);

/* Put a sample into a slot; and take the next sample of a pass through it by itself. */
void quzo_put(quzo_bench_t *bench, uint16_t slot, uint16_t sample);
void quzo_part(quzo_bench_t *bench, uint32_t step, uint8_t pass, uint16_t sample);

/* Weight i of a tensor in the engine. */
int32_t quzo_weight(const quzo_bench_t *bench, uint8_t tensor, uint32_t i);
uint32_t quzo_weights_of(const quzo_bench_t *bench, uint8_t tensor);

/* E and X of a weight; u, v and r of it. All from their definitions, each draw from the beginning of its stream. */
typedef struct {
    uint32_t seed, step, direction, tensor;
} naive_draw_t;

int32_t naive_scale(const quzo_bench_t *bench, uint8_t tensor, uint32_t i, int32_t *largest);
int32_t naive_z(naive_draw_t draw, uint32_t i);
int32_t naive_u(naive_draw_t draw, uint32_t i, int32_t scale);
int32_t naive_v(naive_draw_t draw, uint32_t i, int32_t scale);
int32_t naive_r(naive_draw_t draw, uint32_t i);

/* M' and shift' of a channel with a gain; a gain held in W_min..W_max; and what a step takes from a gain. */
typedef struct {
    int64_t multiplier, shift;
} naive_scaled_t;

naive_scaled_t naive_scaled(int32_t multiplier, int32_t shift, int64_t gain);
int64_t naive_held_gain(int64_t gain, int32_t scale);
int64_t naive_gain_move(int64_t factor, int32_t z);

/* floor(x / 2^16), and W. */
int64_t naive_floor(int64_t x);
int32_t naive_limit(int32_t scale, int32_t largest);
