/* What the engine refuses, in which words, and what it leaves as it was. The training itself is in test_training.c. */
#include <string.h>

#include "check.h"
#include "engine_bench.h"

static void test_loading(void) {
    bench_t bench = bench_begin();
    engine_t *engine = bench.engine;
    const uint8_t *bytes = bench.file.bytes;
    const uint32_t size = bench.file.size;
    expect(engine_load_data(engine, 0, bytes, 1), FAILURE_NO_NETWORK, 0, 0, "data before load_begin");
    expect(engine_load_end(engine), FAILURE_NO_NETWORK, 0, 0, "load_end before load_begin");
    expect(engine_load_begin(engine, ARENA + 1), FAILURE_DOES_NOT_FIT, ARENA + 1, ARENA,
           "a file larger than the arena");
    expect_fine(engine_load_begin(engine, size), "load_begin");
    expect(engine_load_data(engine, 1, bytes, 1), FAILURE_OUT_OF_ORDER, 1, 0, "a gap");
    expect_fine(engine_load_data(engine, 0, bytes, 40), "data");
    expect(engine_load_data(engine, 0, bytes, 40), FAILURE_OUT_OF_ORDER, 0, 40, "a repeat");
    expect(engine_load_data(engine, 40, bytes + 40, size - 39), FAILURE_BAD_LENGTH, size - 39, size - 40,
           "a byte too much");
    expect(engine_load_end(engine), FAILURE_NETWORK_TRUNCATED, 40, size, "too little");
    CHECK(engine_arena_peak(engine) == 40 && model_tensors(&engine->model) == 0, "half a file");
    expect_fine(engine_load_data(engine, 40, bytes + 40, size - 40), "the rest");
    expect_fine(engine_load_end(engine), "load_end");
    CHECK(model_tensors(&engine->model) == 4 && engine->model.file.layers == 9, "tensors and layers");
    CHECK(memcmp(&(uint32_t){graph_header(&engine->model.file)->digest}, bytes + 12, 4) == 0, "digest");
    CHECK(engine_arena_peak(engine) == size, "the blob counts");
    expect(engine_load_end(engine), FAILURE_NO_NETWORK, 0, 0, "load_end again");
    expect(engine_load_data(engine, size, bytes, 0), FAILURE_NO_NETWORK, 0, 0, "data behind the end");
    engine_reset(engine);
    CHECK(model_tensors(&engine->model) == 0 && engine->model.file.layers == 0 && engine->model.format == NULL,
          "reset");
    expect(engine_configure(engine, &elasticzo_int8, &good, &(uint32_t){0}), FAILURE_NO_NETWORK, 0, 0,
           "configure after reset");
    bench_end(&bench);
}

/* A file that is refused leaves no network, and another may follow. */
static void test_refused_file(void) {
    bench_t bench = bench_begin();
    made_record(&bench.file, 0)->op = 9;
    made_seal(&bench.file);
    expect_fine(engine_load_begin(bench.engine, bench.file.size), "load_begin");
    expect_fine(engine_load_data(bench.engine, 0, bench.file.bytes, bench.file.size), "load_data");
    expect(engine_load_end(bench.engine), FAILURE_NETWORK_LAYER, 0, 1, "an unknown op");
    CHECK(model_tensors(&bench.engine->model) == 0, "no network");
    made_record(&bench.file, 0)->op = OP_CONV2D;
    made_seal(&bench.file);
    bench_load(&bench);
    bench_end(&bench);
}

static void test_slots(void) {
    bench_t bench = bench_begin();
    uint8_t pixels[PIXELS] = {0};
    uint32_t planned = 0;
    bench_load(&bench);
    expect(engine_put_sample(bench.engine, 0, 0, pixels, PIXELS), FAILURE_NOT_CONFIGURED, 0, 0, "put_sample");
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure");
    expect(engine_put_sample(bench.engine, 0, 0, pixels, PIXELS - 1), FAILURE_BAD_LENGTH, PIXELS - 1, PIXELS,
           "a pixel less");
    expect(engine_put_sample(bench.engine, BATCH, 0, pixels, PIXELS), FAILURE_BAD_SLOT, BATCH, BATCH, "no such slot");
    expect(engine_put_sample(bench.engine, 1, 5, pixels, PIXELS), FAILURE_BAD_SLOT, 1, BATCH, "no such class");
    expect(bench_step(&bench, 0, 0), FAILURE_BAD_SLOT, 0, BATCH, "no samples");
    expect(bench_step(&bench, 0, BATCH + 1), FAILURE_BAD_SLOT, BATCH + 1, BATCH, "more than a batch");
    expect(bench_step(&bench, 0, BATCH), FAILURE_SLOTS_EMPTY, 0, BATCH, "empty slots");
    bench_put(&bench, 0);
    bench_put(&bench, 2);
    bench_put(&bench, 2);
    expect(bench_step(&bench, 0, BATCH), FAILURE_SLOTS_EMPTY, 2, BATCH, "slot 1 is empty");
    expect(bench_infer(&bench, BATCH), FAILURE_SLOTS_EMPTY, 2, BATCH, "slot 1 is empty");
    bench_put(&bench, 1);
    expect(bench_step(&bench, 1, BATCH), FAILURE_OUT_OF_ORDER, 1, 0, "a step ahead");
    expect_fine(bench_step(&bench, 0, BATCH), "step");
    expect(bench_step(&bench, 0, BATCH), FAILURE_OUT_OF_ORDER, 0, 1, "a repeated step");
    expect(bench_step(&bench, 1, 1), FAILURE_SLOTS_EMPTY, 0, 1, "a step takes its samples");
    bench_put(&bench, 0);
    expect_fine(bench_infer(&bench, 1), "infer");
    expect(bench_infer(&bench, 1), FAILURE_SLOTS_EMPTY, 0, 1, "an evaluation takes its samples");
    bench_put(&bench, 0);
    expect_fine(bench_step(&bench, 1, 1), "a smaller batch");
    bench_end(&bench);
}

static void test_reading(void) {
    bench_t bench = bench_begin();
    uint8_t out[54];
    uint32_t digests[ENGINE_MAX_TENSORS];
    expect(engine_digests(bench.engine, digests), FAILURE_NO_NETWORK, 0, 0, "digests");
    expect(engine_read_tensor(bench.engine, 0, 0, 1, out), FAILURE_NO_NETWORK, 0, 0, "read_tensor");
    bench_load(&bench);
    const uint8_t *weights = bench.file.bytes + sizeof(graph_header_t) + 9 * sizeof(graph_layer_t);
    expect_fine(engine_read_tensor(bench.engine, 0, 0, 54, out), "the whole tensor");
    CHECK(memcmp(out, weights, 54) == 0, "the weights");
    expect_fine(engine_read_tensor(bench.engine, 0, 50, 4, out), "its end");
    CHECK(memcmp(out, weights + 50, 4) == 0, "the last weights");
    expect_fine(engine_read_tensor(bench.engine, 0, 54, 0, out), "nothing");
    expect(engine_read_tensor(bench.engine, 0, 50, 5, out), FAILURE_BAD_TENSOR, 0, 50, "beyond the end");
    expect(engine_read_tensor(bench.engine, 0, 55, 0, out), FAILURE_BAD_TENSOR, 0, 55, "an offset beyond the end");
    expect(engine_read_tensor(bench.engine, 0, 2, UINT32_MAX, out), FAILURE_BAD_TENSOR, 0, 2,
           "a length that wraps around");
    expect(engine_read_tensor(bench.engine, 4, 0, 1, out), FAILURE_BAD_TENSOR, 4, 0, "no such tensor");
    bench_end(&bench);
}

static void test_tracing(void) {
    bench_t bench = bench_begin();
    uint32_t planned = 0;
    bench_load(&bench);
    expect(bench_trace(&bench, 0), FAILURE_NOT_CONFIGURED, 0, 0, "trace");
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure");
    expect(bench_trace(&bench, BATCH), FAILURE_BAD_SLOT, BATCH, BATCH, "no such slot");
    expect(bench_trace(&bench, 1), FAILURE_SLOTS_EMPTY, 0, 1, "an empty slot");
    bench_put(&bench, 0);
    bench_put(&bench, 2);
    expect_fine(bench_trace(&bench, 2), "trace, behind an empty slot");
    expect_fine(bench_trace(&bench, 0), "trace");
    expect_fine(bench_step(&bench, 0, 1), "the slot has stayed filled");
    elasticzo_settings_t grouped = good;
    grouped.scope = SCOPE_BATCH;
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &grouped, &planned), "configure");
    bench_put(&bench, 0);
    bench_put(&bench, 2);
    expect(bench_trace(&bench, 2), FAILURE_SLOTS_EMPTY, 1, 2, "a sample behind the end of its group");
    expect_fine(bench_trace(&bench, 0), "trace");
    bench_end(&bench);
}

/* The peak is the highest byte that anything wrote, and nothing writes beyond the plan. */
static void test_peak(void) {
    bench_t bench = bench_begin();
    uint32_t planned = 0;
    bench_load(&bench);
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure");
    bench_put(&bench, 0);
    expect_fine(bench_step(&bench, 0, 1), "step");
    const uint32_t peak = engine_arena_peak(bench.engine);
    CHECK(peak > bench.file.size && peak <= planned, "peak %u, planned %u", peak, planned);
    bench.arena[planned + 41] ^= 0xFF;
    CHECK(engine_arena_peak(bench.engine) == planned + 42, "peak %u", engine_arena_peak(bench.engine));
    bench.arena[ARENA - 1] ^= 0xFF;
    CHECK(engine_arena_peak(bench.engine) == ARENA, "peak %u", engine_arena_peak(bench.engine));
    expect_fine(engine_configure(bench.engine, &elasticzo_int8, &good, &planned), "configure paints again");
    CHECK(engine_arena_peak(bench.engine) <= planned, "peak %u", engine_arena_peak(bench.engine));
    bench_end(&bench);
}

void test_engine(void) {
    test_loading();
    test_refused_file();
    test_slots();
    test_reading();
    test_tracing();
    test_peak();
}
