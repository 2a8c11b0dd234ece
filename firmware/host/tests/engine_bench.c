#include "engine_bench.h"

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

bench_t bench_begin(void) {
    bench_t bench = {.engine = take(sizeof *bench.engine), .arena = take(ARENA)};
    engine_init(bench.engine, registry_formats, bench.arena, ARENA, no_cycles);
    chain_small(&bench.file);
    return bench;
}

void bench_end(bench_t *bench) {
    free(bench->engine);
    free(bench->arena);
    made_free(&bench->file);
}

void bench_load(bench_t *bench) {
    const graph_made_t *file = &bench->file;
    expect_fine(engine_load_begin(bench->engine, file->size), "load_begin");
    expect_fine(engine_load_data(bench->engine, 0, file->bytes, file->size), "load_data");
    expect_fine(engine_load_end(bench->engine), "load_end");
}

void bench_put(bench_t *bench, uint16_t slot) {
    uint8_t pixels[PIXELS];
    memset(pixels, 200 + slot, sizeof pixels);
    expect_fine(engine_put_sample(bench->engine, slot, (uint8_t)(slot % 5), pixels, PIXELS), "put_sample");
}

failure_t bench_step(bench_t *bench, uint32_t index, uint16_t count) {
    step_result_t result;
    uint32_t digests[ENGINE_MAX_TENSORS];
    return engine_step(bench->engine, index, count, &result, digests);
}

failure_t bench_infer(bench_t *bench, uint16_t count) {
    uint8_t predictions[BATCH];
    infer_result_t result = {.predictions = predictions};
    return engine_infer(bench->engine, count, &result);
}

failure_t bench_trace(bench_t *bench, uint16_t slot) {
    uint8_t out[16];
    uint32_t length = sizeof out;
    return engine_trace(bench->engine, slot, 0, 0, out, &length);
}
