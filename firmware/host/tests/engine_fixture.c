#include "engine_fixture.h"

#include <string.h>

#include "check.h"
#include "trainer/registry.h"

const elasticzo_settings_t good = {
    .partition = 2, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = BATCH, .seed = 9, .slots = BATCH};

static uint32_t no_cycles(void) {
    return 0;
}

void expect(failure_t failure, uint8_t code, uint32_t a, uint32_t b, const char *what) {
    CHECK(failure.code == code && failure.a == a && failure.b == b, "%s: code %u, a %u, b %u, not %u, %u, %u", what,
          failure.code, failure.a, failure.b, code, a, b);
}

void expect_fine(failure_t failure, const char *what) {
    expect(failure, 0, 0, 0, what);
}

fixture_t fixture_begin(void) {
    fixture_t fixture = {.engine = take(sizeof *fixture.engine), .arena = take(ARENA)};
    engine_init(fixture.engine, registry_formats, fixture.arena, ARENA, no_cycles);
    chain_small(&fixture.file);
    return fixture;
}

void fixture_end(fixture_t *fixture) {
    free(fixture->engine);
    free(fixture->arena);
    made_free(&fixture->file);
}

void fixture_load(fixture_t *fixture) {
    const graph_made_t *file = &fixture->file;
    expect_fine(engine_load_begin(fixture->engine, file->size), "load_begin");
    expect_fine(engine_load_data(fixture->engine, 0, file->bytes, file->size), "load_data");
    expect_fine(engine_load_end(fixture->engine), "load_end");
}

void fixture_put(fixture_t *fixture, uint16_t slot) {
    uint8_t pixels[PIXELS];
    memset(pixels, 200 + slot, sizeof pixels);
    expect_fine(engine_put_sample(fixture->engine, slot, (uint8_t)(slot % 5), pixels, PIXELS), "put_sample");
}

failure_t fixture_step(fixture_t *fixture, uint32_t index, uint16_t count) {
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS];
    return engine_step(fixture->engine, index, count, &result, digests);
}

failure_t fixture_infer(fixture_t *fixture, uint16_t count) {
    uint8_t predictions[BATCH];
    infer_result_t result = {.predictions = predictions};
    return engine_infer(fixture->engine, count, &result);
}

failure_t fixture_trace(fixture_t *fixture, uint16_t slot) {
    uint8_t out[16];
    uint32_t length = sizeof out;
    return engine_trace(fixture->engine, slot, 0, 0, out, &length);
}
