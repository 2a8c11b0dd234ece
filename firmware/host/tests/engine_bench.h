/* An engine with the small network and more arena than it needs, for the tests of what it refuses. */
#pragma once

#include "chain_made.h"
#include "engine/engine.h"
#include "methods/elasticzo_int8.h"

enum { ARENA = 16384, BATCH = 3, PIXELS = 8 * 8 * 2 };

typedef struct {
    engine_t *engine;
    uint8_t *arena;
    graph_made_t file;
} bench_t;

/* Settings that the engine takes. */
extern const elasticzo_settings_t good;

void expect(failure_t failure, uint8_t code, uint32_t a, uint32_t b, const char *what);
void expect_fine(failure_t failure, const char *what);

/* Nothing is loaded yet. */
bench_t bench_begin(void);
void bench_end(bench_t *bench);
void bench_load(bench_t *bench);

/* Fill a slot. */
void bench_put(bench_t *bench, uint16_t slot);

failure_t bench_step(bench_t *bench, uint32_t index, uint16_t count);
failure_t bench_infer(bench_t *bench, uint16_t count);
failure_t bench_trace(bench_t *bench, uint16_t slot);
