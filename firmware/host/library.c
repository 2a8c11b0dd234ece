/* What a test in Python needs beside the engine's own functions: an engine in memory of its own, and names for what
   is inline. */
#include <stdlib.h>
#include <string.h>

#include "arith/integers.h"
#include "arith/psto_shift.h"
#include "arith/random.h"
#include "engine/engine.h"
#include "formats/tflite8_sizes.h"
#include "trainer/registry.h"

/* Counts its own calls: a counter that is the same in every run. */
static uint32_t calls(void) {
    static uint32_t count;
    return ++count;
}

/* An engine with an arena of `arena_size` bytes, to be given back with host_engine_free(); NULL when there is no
   memory. */
engine_t *host_engine_new(uint32_t arena_size) {
    engine_t *engine = malloc(sizeof *engine);
    uint8_t *arena = malloc(arena_size);
    if (engine == NULL || arena == NULL) {
        free(engine);
        free(arena);
        return NULL;
    }
    engine_init(engine, registry_formats, arena, arena_size, calls);
    return engine;
}

void host_engine_free(engine_t *engine) {
    free(engine->model.arena);
    free(engine);
}

/* The request `configure`. */
failure_t host_configure(engine_t *engine, const uint8_t *body, uint32_t length, uint32_t *planned) {
    return registry_configure(engine, body, length, planned);
}

/* Sizes in bytes of step_result_t and failure_t, for who describes them anew. */
void host_sizes(uint32_t sizes[2]) {
    sizes[0] = sizeof(step_result_t);
    sizes[1] = sizeof(failure_t);
}

/* Place the buffers of the layers from..to - 1, behind those that are placed, without moving what is kept; and tell
   what was placed: bytes, offset, first and last slot, line, and value or layer of each buffer. Returns how many. */
uint16_t host_place(engine_t *engine, uint8_t from, uint8_t to, uint32_t (*fields)[6]) {
    model_t *model = &engine->model;
    buffer_t buffers[PLAN_MAX_BUFFERS];
    placing_t placing = plan_open(&model->plan, buffers, PLAN_MAX_BUFFERS);
    model->method->demand(&placing, model, (start_t){.from = from, .to = to});
    plan_close(&placing, NULL);
    uint16_t told = 0;
    for (uint16_t i = 0; i < placing.count; i++) {
        const buffer_t *buffer = &placing.buffer[i];
        if (buffer->bytes > 0) {
            const uint32_t words[6] = {buffer->bytes, model->plan.at[buffer->place], buffer->first,
                                       buffer->last,  buffer->place / PLAN_LENGTH,   buffer->place % PLAN_LENGTH};
            memcpy(fields[told++], words, sizeof words);
        }
    }
    return told;
}

uint8_t host_layers(const engine_t *engine) {
    return engine->model.file.layers;
}

uint8_t host_tensors(const engine_t *engine) {
    return model_tensors(&engine->model);
}

/* Place again what is placed when a pass begins. */
void host_place_first(engine_t *engine) {
    model_place_first(&engine->model);
}

/* Ends of what stays while other settings change, and through all of training; then all offsets, by place. */
void host_plan(const engine_t *engine, uint32_t fields[2 + PLAN_PLACES]) {
    const plan_t *plan = &engine->model.plan;
    fields[0] = plan->kept;
    fields[1] = plan->always;
    memcpy(fields + 2, plan->at, sizeof plan->at);
}

/* A run as the agent does it: checks, steps, report. */
failure_t host_run(engine_t *engine, uint32_t step, uint16_t steps, uint16_t count, step_result_t *result,
                   uint32_t *digests) {
    RETURN_IF_REFUSED(engine_check_run(engine, step, steps, count));
    RETURN_IF_REFUSED(engine_run(engine, steps, count, result));
    engine_report(engine, result, digests);
    return no_failure();
}

/* Cycles of each step of the last run by phase; returns how many steps, at most ENGINE_MAX_LAPS. */
uint16_t host_laps(const engine_t *engine, lap_t laps[ENGINE_MAX_LAPS]) {
    memcpy(laps, engine->laps, engine->lap_count * sizeof laps[0]);
    return engine->lap_count;
}

/* Cycles by layer of the last step or run: forward of every layer, then backward. */
void host_profile(const engine_t *engine, uint64_t *cycles) {
    const cycle_account_t *account = &engine->model.account;
    const uint8_t layers = engine->model.file.layers;
    memcpy(cycles, account->forward, layers * sizeof cycles[0]);
    memcpy(cycles + layers, account->backward, layers * sizeof cycles[0]);
}

int32_t host_bits(uint32_t m) {
    return bits(m);
}

int32_t host_clip127(int32_t x) {
    return clip127(x);
}

int32_t host_add_sat32(int32_t a, int32_t b) {
    return add_sat32(a, b);
}

int32_t host_trunc_shift(int32_t x, int32_t n) {
    return trunc_shift(x, n);
}

int32_t host_round_shift(int32_t x, int32_t s) {
    return round_shift(x, s);
}

int32_t host_psto_shift(int32_t x, int32_t s) {
    return psto_shift(x, s);
}

uint32_t host_mix32(uint32_t h) {
    return mix32(h);
}

uint32_t host_xorshift32(uint32_t x) {
    return xorshift32(x);
}

uint32_t host_stream_start(uint32_t seed, uint32_t step, uint32_t i) {
    return stream_start(seed, step, i);
}

/* Bytes of scratch that the memory plan has for the kernels of a layer: forward, of the weights' gradient, of the
   input's error. */
void host_scratch(enum op op, const layer_shape_t *shape, uint64_t bytes[3]) {
    const graph_layer_t layer = {
        .op = (uint8_t)op,
        .kernel_h = shape->kernel_h,
        .kernel_w = shape->kernel_w,
        .stride_h = shape->stride_h,
        .stride_w = shape->stride_w,
        .padding_h = shape->padding_h,
        .padding_w = shape->padding_w,
        .in_h = shape->in_h,
        .in_w = shape->in_w,
        .in_c = shape->in_c,
        .out_h = shape->out_h,
        .out_w = shape->out_w,
        .out_c = shape->out_c,
    };
    const work_layout_t forward = work_layout(&layer, (chained_t){.has_ring = false});
    const sums_layout_t gradient = sums_layout(&layer, true);
    const back_layout_t back = back_layout(&layer, graph_inputs(&layer));
    bytes[0] = forward.end - forward.scratch;
    bytes[1] = gradient.end - gradient.scratch;
    bytes[2] = back.end - back.scratch;
}

/* Sets of layers: trained, by nodes, joined to the layer before, starts. */
void host_training(const engine_t *engine, uint64_t sets[4]) {
    sets[0] = engine->model.training.layers;
    sets[1] = engine->model.training.nodes;
    sets[2] = engine->model.training.joined;
    sets[3] = engine->model.training.starts;
}

/* Multiply-accumulates and layers run of the last step or run. */
void host_work(const engine_t *engine, uint64_t work[2]) {
    work[0] = engine->model.macs;
    work[1] = engine->model.layer_runs;
}
