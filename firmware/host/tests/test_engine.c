/* What the engine refuses, in which words, and what it leaves as it was. The training itself is in test_training.c. */
#include <string.h>

#include "check.h"
#include "engine_fixture.h"

static void test_loading(void) {
    fixture_t fixture = fixture_begin();
    engine_t *engine = fixture.engine;
    const uint8_t *bytes = fixture.file.bytes;
    const uint32_t size = fixture.file.size;
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
    CHECK(model_tensors(&engine->model) == 0 && engine->model.file.layers == 0 && engine->model.formats == NULL,
          "reset");
    expect(engine_configure(engine, &elasticzo_int8, &good, &(uint32_t){0}), FAILURE_NO_NETWORK, 0, 0,
           "configure after reset");
    fixture_end(&fixture);
}

/* A file that is refused leaves no network, and another may follow. */
static void test_refused_file(void) {
    fixture_t fixture = fixture_begin();
    made_record(&fixture.file, 0)->op = 14;
    made_seal(&fixture.file);
    expect_fine(engine_load_begin(fixture.engine, fixture.file.size), "load_begin");
    expect_fine(engine_load_data(fixture.engine, 0, fixture.file.bytes, fixture.file.size), "load_data");
    expect(engine_load_end(fixture.engine), FAILURE_NETWORK_LAYER, 0, 1, "an unknown op");
    CHECK(model_tensors(&fixture.engine->model) == 0, "no network");
    made_record(&fixture.file, 0)->op = OP_CONV2D;
    made_seal(&fixture.file);
    fixture_load(&fixture);
    fixture_end(&fixture);
}

static void test_slots(void) {
    fixture_t fixture = fixture_begin();
    uint8_t pixels[PIXELS] = {0};
    uint32_t planned = 0;
    fixture_load(&fixture);
    expect(engine_put_sample(fixture.engine, 0, 0, pixels, PIXELS), FAILURE_NOT_CONFIGURED, 0, 0, "put_sample");
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure");
    expect(engine_put_sample(fixture.engine, 0, 0, pixels, PIXELS - 1), FAILURE_BAD_LENGTH, PIXELS - 1, PIXELS,
           "a pixel less");
    expect(engine_put_sample(fixture.engine, BATCH, 0, pixels, PIXELS), FAILURE_BAD_SLOT, BATCH, BATCH, "no such slot");
    expect(engine_put_sample(fixture.engine, 1, 5, pixels, PIXELS), FAILURE_BAD_SLOT, 5, 5, "no such class");
    expect(fixture_step(&fixture, 0, 0), FAILURE_BAD_SLOT, 0, BATCH, "no samples");
    expect(fixture_step(&fixture, 0, BATCH + 1), FAILURE_BAD_SLOT, BATCH + 1, BATCH, "more than a batch");
    expect(fixture_step(&fixture, 0, BATCH), FAILURE_SLOTS_EMPTY, 0, BATCH, "empty slots");
    fixture_put(&fixture, 0);
    fixture_put(&fixture, 2);
    fixture_put(&fixture, 2);
    expect(fixture_step(&fixture, 0, BATCH), FAILURE_SLOTS_EMPTY, 2, BATCH, "slot 1 is empty");
    expect(fixture_infer(&fixture, BATCH), FAILURE_SLOTS_EMPTY, 2, BATCH, "slot 1 is empty");
    fixture_put(&fixture, 1);
    expect(fixture_step(&fixture, 1, BATCH), FAILURE_OUT_OF_ORDER, 1, 0, "a step ahead");
    expect_fine(fixture_step(&fixture, 0, BATCH), "step");
    expect(fixture_step(&fixture, 0, BATCH), FAILURE_OUT_OF_ORDER, 0, 1, "a repeated step");
    expect(fixture_step(&fixture, 1, 1), FAILURE_SLOTS_EMPTY, 0, 1, "a step takes its samples");
    fixture_put(&fixture, 0);
    expect_fine(fixture_infer(&fixture, 1), "infer");
    expect(fixture_infer(&fixture, 1), FAILURE_SLOTS_EMPTY, 0, 1, "an evaluation takes its samples");
    fixture_put(&fixture, 0);
    expect_fine(fixture_step(&fixture, 1, 1), "a smaller batch");
    fixture_end(&fixture);
}

static void test_reading(void) {
    fixture_t fixture = fixture_begin();
    uint8_t out[54];
    uint32_t digests[ENGINE_MAX_TENSORS];
    expect(engine_digests(fixture.engine, digests), FAILURE_NO_NETWORK, 0, 0, "digests");
    expect(engine_read_tensor(fixture.engine, 0, 0, 1, out), FAILURE_NO_NETWORK, 0, 0, "read_tensor");
    fixture_load(&fixture);
    const uint8_t *weights = fixture.file.bytes + sizeof(graph_header_t) + 9 * sizeof(graph_layer_t);
    expect_fine(engine_read_tensor(fixture.engine, 0, 0, 54, out), "the whole tensor");
    CHECK(memcmp(out, weights, 54) == 0, "the weights");
    expect_fine(engine_read_tensor(fixture.engine, 0, 50, 4, out), "its end");
    CHECK(memcmp(out, weights + 50, 4) == 0, "the last weights");
    expect_fine(engine_read_tensor(fixture.engine, 0, 54, 0, out), "nothing");
    expect(engine_read_tensor(fixture.engine, 0, 50, 5, out), FAILURE_BAD_TENSOR, 0, 50, "beyond the end");
    expect(engine_read_tensor(fixture.engine, 0, 55, 0, out), FAILURE_BAD_TENSOR, 0, 55, "an offset beyond the end");
    expect(engine_read_tensor(fixture.engine, 0, 2, UINT32_MAX, out), FAILURE_BAD_TENSOR, 0, 2,
           "a length that wraps around");
    expect(engine_read_tensor(fixture.engine, 4, 0, 1, out), FAILURE_BAD_TENSOR, 4, 0, "no such tensor");
    fixture_end(&fixture);
}

static void test_tracing(void) {
    fixture_t fixture = fixture_begin();
    uint32_t planned = 0;
    fixture_load(&fixture);
    expect(fixture_trace(&fixture, 0), FAILURE_NOT_CONFIGURED, 0, 0, "trace");
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure");
    expect(fixture_trace(&fixture, BATCH), FAILURE_BAD_SLOT, BATCH, BATCH, "no such slot");
    expect(fixture_trace(&fixture, 1), FAILURE_SLOTS_EMPTY, 0, 1, "an empty slot");
    fixture_put(&fixture, 0);
    fixture_put(&fixture, 2);
    expect_fine(fixture_trace(&fixture, 2), "trace, behind an empty slot");
    expect_fine(fixture_trace(&fixture, 0), "trace");
    expect_fine(fixture_step(&fixture, 0, 1), "the slot has stayed filled");
    elasticzo_settings_t grouped = good;
    grouped.scope = SCOPE_BATCH;
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &grouped, &planned), "configure");
    fixture_put(&fixture, 0);
    fixture_put(&fixture, 2);
    expect(fixture_trace(&fixture, 2), FAILURE_SLOTS_EMPTY, 1, 2, "a sample behind the end of its group");
    expect_fine(fixture_trace(&fixture, 0), "trace");
    fixture_end(&fixture);
}

/* The peak is the highest byte that anything wrote, and nothing writes beyond the plan. */
static void test_peak(void) {
    fixture_t fixture = fixture_begin();
    uint32_t planned = 0;
    fixture_load(&fixture);
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure");
    fixture_put(&fixture, 0);
    expect_fine(fixture_step(&fixture, 0, 1), "step");
    const uint32_t peak = engine_arena_peak(fixture.engine);
    CHECK(peak > fixture.file.size && peak <= planned, "peak %u, planned %u", peak, planned);
    fixture.arena[planned + 41] ^= 0xFF;
    CHECK(engine_arena_peak(fixture.engine) == planned + 42, "peak %u", engine_arena_peak(fixture.engine));
    fixture.arena[ARENA - 1] ^= 0xFF;
    CHECK(engine_arena_peak(fixture.engine) == ARENA, "peak %u", engine_arena_peak(fixture.engine));
    expect_fine(engine_configure(fixture.engine, &elasticzo_int8, &good, &planned), "configure paints again");
    CHECK(engine_arena_peak(fixture.engine) <= planned, "peak %u", engine_arena_peak(fixture.engine));
    fixture_end(&fixture);
}

void test_engine(void) {
    test_loading();
    test_refused_file();
    test_slots();
    test_reading();
    test_tracing();
    test_peak();
}
