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
} fixture_t;

/* Settings that the engine takes. */
extern const elasticzo_settings_t good;

void expect(failure_t failure, uint8_t code, uint32_t a, uint32_t b, const char *what);
void expect_fine(failure_t failure, const char *what);

/* Nothing is loaded yet. */
fixture_t fixture_begin(void);
void fixture_end(fixture_t *fixture);
void fixture_load(fixture_t *fixture);

/* Fill a slot. */
void fixture_put(fixture_t *fixture, uint16_t slot);

failure_t fixture_step(fixture_t *fixture, uint32_t index, uint16_t count);
failure_t fixture_infer(fixture_t *fixture, uint16_t count);
failure_t fixture_trace(fixture_t *fixture, uint16_t slot);
