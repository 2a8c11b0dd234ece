/* What a test in Python needs beside the engine's own functions: an engine in memory of its own, and names for what is inline. */
#include <stdlib.h>
#include <string.h>

#include "arith/bits.h"
#include "arith/clip127.h"
#include "arith/psto_shift.h"
#include "arith/random.h"
#include "arith/round_shift.h"
#include "graph/engine.h"
#include "net/engine.h"

/* Counts its own calls: a counter that is the same in every run. */
static uint32_t calls(void) {
    static uint32_t count;
    return ++count;
}

/* An engine with an arena of `arena_size` bytes, to be given back with host_engine_free(); NULL when there is no memory. */
engine_t *host_engine_new(uint32_t arena_size) {
    engine_t *engine = malloc(sizeof *engine);
    uint8_t *arena = malloc(arena_size);
    if (engine == NULL || arena == NULL) {
        free(engine);
        free(arena);
        return NULL;
    }
    engine_init(engine, arena, arena_size, calls);
    return engine;
}

void host_engine_free(engine_t *engine) {
    free(engine->model.arena);
    free(engine);
}

uint16_t host_plan_buffers(const engine_t *engine) {
    return engine->model.plan.buffers;
}

/* Size, offset, first and last slot of a buffer, in the order of docs/memory.md. */
void host_plan_buffer(const engine_t *engine, uint16_t index, uint32_t fields[4]) {
    const buffer_t *buffer = &engine->model.plan.buffer[index];
    fields[0] = buffer->size;
    fields[1] = buffer->offset;
    fields[2] = buffer->first;
    fields[3] = buffer->last;
}

/* Sizes in bytes of settings_t, step_result_t and failure_t, for who describes them anew. */
void host_sizes(uint32_t sizes[3]) {
    sizes[0] = sizeof(settings_t);
    sizes[1] = sizeof(step_result_t);
    sizes[2] = sizeof(failure_t);
}

/* A run as the agent does it: checks, steps, report. */
failure_t host_run(engine_t *engine, uint32_t step, uint16_t steps, uint16_t count, step_result_t *result) {
    const failure_t failure = engine_check_run(engine, step, steps, count);
    if (failure.code == 0) {
        engine_run(engine, steps, count, result);
        engine_report(engine, result);
    }
    return failure;
}

/* Cycles of each step of the last run by phase; returns how many steps, at most ENGINE_MAX_LAPS. */
uint16_t host_laps(const engine_t *engine, lap_t laps[ENGINE_MAX_LAPS]) {
    memcpy(laps, engine->laps, engine->lap_count * sizeof laps[0]);
    return engine->lap_count;
}

/* Cycles by layer of the last step or run: forward of every layer, then backward. */
void host_profile(const engine_t *engine, uint64_t *cycles) {
    const cycle_account_t *account = &engine->model.account;
    const uint8_t layers = engine_layers(engine);
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

/* An engine of tflite8, as host_engine_new(). A file that is used from flash is the caller's memory. */
graph_engine_t *host_graph_new(uint32_t arena_size) {
    graph_engine_t *engine = malloc(sizeof *engine);
    uint8_t *arena = malloc(arena_size);
    if (engine == NULL || arena == NULL) {
        free(engine);
        free(arena);
        return NULL;
    }
    graph_engine_init(engine, arena, arena_size, calls);
    return engine;
}

void host_graph_free(graph_engine_t *engine) {
    free(engine->model.arena);
    free(engine);
}

/* Bring a file to the beginning of the arena, as the agent does piece by piece, and use it. */
failure_t host_graph_load(graph_engine_t *engine, const uint8_t *file, uint32_t size) {
    if (size > engine->arena_size) {
        return refusal(FAILURE_DOES_NOT_FIT, size, engine->arena_size);
    }
    memcpy(engine->model.arena, file, size);
    return graph_engine_use_arena(engine, size);
}

failure_t host_graph_run(graph_engine_t *engine, uint32_t step, uint16_t steps, uint16_t count, step_result_t *result,
                         uint32_t *digests) {
    const failure_t failure = graph_engine_check_run(engine, step, steps, count);
    if (failure.code == 0) {
        graph_engine_run(engine, steps, count, result);
        graph_engine_report(engine, result, digests);
    }
    return failure;
}

/* Bytes and offset of a buffer that is placed now: a line of the second table of docs/memory-graph.md, and its value or layer. */
void host_graph_buffer(const graph_engine_t *engine, uint8_t line, uint8_t i, uint32_t fields[2]) {
    fields[0] = engine->model.plan.bytes[line][i];
    fields[1] = engine->model.plan.at[line][i];
}

/* Ends of what stays and of what always lives; offsets of labels, queries, samples; then of every layer's theta, beta, gradient and
   velocities. */
void host_graph_always(const graph_engine_t *engine, uint32_t fields[5 + 4 * GRAPH_MAX_LAYERS]) {
    const graph_plan_t *plan = &engine->model.plan;
    const uint32_t first[5] = {plan->kept, plan->always, plan->labels, plan->queries, plan->samples};
    memcpy(fields, first, sizeof first);
    memcpy(fields + 5, plan->theta, sizeof plan->theta);
    memcpy(fields + 5 + GRAPH_MAX_LAYERS, plan->beta, sizeof plan->beta);
    memcpy(fields + 5 + 2 * GRAPH_MAX_LAYERS, plan->grad, sizeof plan->grad);
    memcpy(fields + 5 + 3 * GRAPH_MAX_LAYERS, plan->velocity, sizeof plan->velocity);
}

/* Place the buffers of the prefix or the first start, or those of the start at layer `from`, behind the one that is placed. */
void host_graph_begin(graph_engine_t *engine) {
    const planned_t planned = graph_planned(&engine->model);
    graph_plan_begin(&engine->model.plan, &planned);
}

void host_graph_enter(graph_engine_t *engine, uint8_t from) {
    graph_enter(&engine->model, from);
}

/* Sets of layers: trained, by nodes, joined to the layer before. */
void host_graph_training(const graph_engine_t *engine, uint64_t sets[3]) {
    sets[0] = engine->model.training.layers;
    sets[1] = engine->model.training.nodes;
    sets[2] = engine->model.training.joined;
}

/* Multiply-accumulates and layers run of the last step or run. */
void host_graph_work(const graph_engine_t *engine, uint64_t work[2]) {
    work[0] = engine->model.macs;
    work[1] = engine->model.layer_runs;
}

/* Sizes in bytes of graph_settings_t and graph_engine_t. */
void host_graph_sizes(uint32_t sizes[2]) {
    sizes[0] = sizeof(graph_settings_t);
    sizes[1] = sizeof(graph_engine_t);
}
