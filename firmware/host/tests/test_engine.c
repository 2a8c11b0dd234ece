/* What the engine refuses, in which words, and what it leaves as it was. The training itself is in test_training.c. */
#include <string.h>

#include "check.h"
#include "net/engine.h"
#include "network_file.h"

enum { ARENA = 16384, BATCH = 3, PIXELS = 8 * 8 * 2 };

typedef struct {
    engine_t *engine;
    uint8_t *arena;
    network_file_t file;
} bench_t;

static uint32_t no_cycles(void) {
    return 0;
}

static void expect(failure_t failure, uint8_t code, uint32_t a, uint32_t b, const char *what) {
    CHECK(failure.code == code && failure.a == a && failure.b == b, "%s: code %u, a %u, b %u, not %u, %u, %u", what, failure.code,
          failure.a, failure.b, code, a, b);
}

static void expect_fine(failure_t failure, const char *what) {
    expect(failure, 0, 0, 0, what);
}

static bench_t begin(uint32_t arena_size) {
    bench_t bench = {.engine = take(sizeof *bench.engine), .arena = take(arena_size)};
    engine_init(bench.engine, bench.arena, arena_size, no_cycles);
    file_small_network(&bench.file);
    return bench;
}

static void end(bench_t *bench) {
    free(bench->engine);
    free(bench->arena);
    file_free(&bench->file);
}

static void load(bench_t *bench) {
    const network_file_t *file = &bench->file;
    expect_fine(engine_load_begin(bench->engine, file->size), "load_begin");
    expect_fine(engine_load_data(bench->engine, 0, file->bytes, file->size), "load_data");
    expect_fine(engine_load_end(bench->engine), "load_end");
}

static const settings_t good = {.partition = 2, .b_zo = 1, .b_bp = 5, .p_zero = 84, .r_max = 31, .batch = BATCH, .seed = 9};

static void put(bench_t *bench, uint16_t slot) {
    uint8_t pixels[PIXELS];
    memset(pixels, 200 + slot, sizeof pixels);
    expect_fine(engine_put_sample(bench->engine, slot, (uint8_t)(slot % 5), pixels, PIXELS), "put_sample");
}

static failure_t step(bench_t *bench, uint32_t index, uint16_t count) {
    step_result_t result;
    return engine_step(bench->engine, index, count, &result);
}

static failure_t infer(bench_t *bench, uint16_t count) {
    uint8_t predictions[BATCH];
    infer_result_t result = {.predictions = predictions};
    return engine_infer(bench->engine, count, &result);
}

static void test_loading(void) {
    bench_t bench = begin(ARENA);
    engine_t *engine = bench.engine;
    const uint8_t *bytes = bench.file.bytes;
    const uint32_t size = bench.file.size;
    expect(engine_load_data(engine, 0, bytes, 1), FAILURE_NO_NETWORK, 0, 0, "data before load_begin");
    expect(engine_load_end(engine), FAILURE_NO_NETWORK, 0, 0, "load_end before load_begin");
    expect(engine_load_begin(engine, ARENA + 1), FAILURE_DOES_NOT_FIT, ARENA + 1, ARENA, "a file larger than the arena");
    expect_fine(engine_load_begin(engine, size), "load_begin");
    expect(engine_load_data(engine, 1, bytes, 1), FAILURE_OUT_OF_ORDER, 1, 0, "a gap");
    expect_fine(engine_load_data(engine, 0, bytes, 40), "data");
    expect(engine_load_data(engine, 0, bytes, 40), FAILURE_OUT_OF_ORDER, 0, 40, "a repeat");
    expect(engine_load_data(engine, 40, bytes + 40, size - 39), FAILURE_BAD_LENGTH, size - 39, size - 40, "a byte too much");
    expect(engine_load_end(engine), FAILURE_NETWORK_TRUNCATED, 40, size, "too little");
    CHECK(engine_arena_peak(engine) == 40 && engine_tensors(engine) == 0, "half a file");
    expect_fine(engine_load_data(engine, 40, bytes + 40, size - 40), "the rest");
    expect_fine(engine_load_end(engine), "load_end");
    CHECK(engine_tensors(engine) == 4 && engine_layers(engine) == 9, "tensors and layers");
    CHECK(memcmp(&(uint32_t){engine_network_digest(engine)}, bytes + 12, 4) == 0, "digest");
    CHECK(engine_arena_peak(engine) == size, "the blob counts");
    expect(engine_load_end(engine), FAILURE_NO_NETWORK, 0, 0, "load_end again");
    expect(engine_load_data(engine, size, bytes, 0), FAILURE_NO_NETWORK, 0, 0, "data behind the end");
    engine_reset(engine);
    CHECK(engine_tensors(engine) == 0 && engine_layers(engine) == 0 && engine_network_digest(engine) == 0, "reset");
    expect(engine_configure(engine, &good, &(uint32_t){0}), FAILURE_NO_NETWORK, 0, 0, "configure after reset");
    end(&bench);
}

/* A file that is refused leaves no network, and another may follow. */
static void test_refused_file(void) {
    bench_t bench = begin(ARENA);
    bench.file.bytes[FILE_HEADER] = 9;
    file_seal(&bench.file);
    expect_fine(engine_load_begin(bench.engine, bench.file.size), "load_begin");
    expect_fine(engine_load_data(bench.engine, 0, bench.file.bytes, bench.file.size), "load_data");
    expect(engine_load_end(bench.engine), FAILURE_NETWORK_LAYER, 0, 1, "an unknown op");
    CHECK(engine_tensors(bench.engine) == 0, "no network");
    bench.file.bytes[FILE_HEADER] = 1;
    file_seal(&bench.file);
    load(&bench);
    end(&bench);
}

/* The good settings with one field, by its index in the request, changed. */
static settings_t with_field(uint32_t field, uint8_t value) {
    settings_t s = good;
    uint8_t *fields[] = {&s.partition, &s.b_zo, &s.b_bp, &s.p_zero, &s.r_max, &s.loss, &s.scope, &s.perturb};
    if (field < sizeof fields / sizeof fields[0]) {
        *fields[field] = value;
    } else {
        s.batch = value;
    }
    return s;
}

static void refuse_setting(bench_t *bench, uint32_t field, uint8_t value) {
    const settings_t settings = with_field(field, value);
    uint32_t planned = 0;
    expect(engine_configure(bench->engine, &settings, &planned), FAILURE_BAD_SETTING, field, value, "a bad setting");
}

static void test_settings(void) {
    bench_t bench = begin(ARENA);
    uint32_t planned = 0;
    load(&bench);
    expect(step(&bench, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "step");
    expect(infer(&bench, 1), FAILURE_NOT_CONFIGURED, 0, 0, "infer");
    static const struct {
        uint8_t field, value;
    } bad[] = {{0, 5}, {1, 0}, {1, 8}, {2, 0}, {2, 8}, {4, 0}, {4, 128}, {5, 1}, {6, 1}, {7, 1}, {8, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse_setting(&bench, bad[i].field, bad[i].value);
    }
    static const struct {
        uint8_t field, value;
    } extreme[] = {{0, 0}, {0, 4}, {1, 7}, {2, 1}, {2, 7}, {3, 0}, {3, 255}, {4, 1}, {4, 127}, {8, 1}};
    for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
        const settings_t settings = with_field(extreme[i].field, extreme[i].value);
        expect_fine(engine_configure(bench.engine, &settings, &planned), "an extreme setting");
    }
    end(&bench);
}

static void test_does_not_fit(void) {
    bench_t bench = begin(ARENA);
    uint32_t planned = 0;
    load(&bench);
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure");
    settings_t large = good;
    large.batch = 1000;
    const failure_t failure = engine_configure(bench.engine, &large, &planned);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT && failure.a > 1000 * PIXELS && failure.b == ARENA, "code %u, a %u", failure.code,
          failure.a);
    expect(step(&bench, 0, 1), FAILURE_NOT_CONFIGURED, 0, 0, "step after a plan that does not fit");
    end(&bench);
}

static void test_slots(void) {
    bench_t bench = begin(ARENA);
    uint8_t pixels[PIXELS] = {0};
    uint32_t planned = 0;
    load(&bench);
    expect(engine_put_sample(bench.engine, 0, 0, pixels, PIXELS), FAILURE_NOT_CONFIGURED, 0, 0, "put_sample");
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure");
    expect(engine_put_sample(bench.engine, 0, 0, pixels, PIXELS - 1), FAILURE_BAD_LENGTH, PIXELS - 1, PIXELS, "a pixel less");
    expect(engine_put_sample(bench.engine, BATCH, 0, pixels, PIXELS), FAILURE_BAD_SLOT, BATCH, BATCH, "no such slot");
    expect(engine_put_sample(bench.engine, 1, 5, pixels, PIXELS), FAILURE_BAD_SLOT, 1, BATCH, "no such class");
    expect(step(&bench, 0, 0), FAILURE_BAD_SLOT, 0, BATCH, "no samples");
    expect(step(&bench, 0, BATCH + 1), FAILURE_BAD_SLOT, BATCH + 1, BATCH, "more than a batch");
    expect(step(&bench, 0, BATCH), FAILURE_SLOTS_EMPTY, 0, BATCH, "empty slots");
    put(&bench, 0);
    put(&bench, 2);
    put(&bench, 2);
    expect(step(&bench, 0, BATCH), FAILURE_SLOTS_EMPTY, 2, BATCH, "slot 1 is empty");
    expect(infer(&bench, BATCH), FAILURE_SLOTS_EMPTY, 2, BATCH, "slot 1 is empty");
    put(&bench, 1);
    expect(step(&bench, 1, BATCH), FAILURE_OUT_OF_ORDER, 1, 0, "a step ahead");
    expect_fine(step(&bench, 0, BATCH), "step");
    expect(step(&bench, 0, BATCH), FAILURE_OUT_OF_ORDER, 0, 1, "a repeated step");
    expect(step(&bench, 1, 1), FAILURE_SLOTS_EMPTY, 0, 1, "a step takes its samples");
    put(&bench, 0);
    expect_fine(infer(&bench, 1), "infer");
    expect(infer(&bench, 1), FAILURE_SLOTS_EMPTY, 0, 1, "an evaluation takes its samples");
    put(&bench, 0);
    expect_fine(step(&bench, 1, 1), "a smaller batch");
    end(&bench);
}

/* `configure` again keeps the weights, begins at step 0 and empties the slots. */
static void test_configure_again(void) {
    bench_t bench = begin(ARENA);
    uint32_t before[ENGINE_MAX_TENSORS], loaded[ENGINE_MAX_TENSORS], after[ENGINE_MAX_TENSORS], planned = 0;
    load(&bench);
    expect_fine(engine_digests(bench.engine, loaded), "digests");
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure");
    put(&bench, 0);
    expect_fine(step(&bench, 0, 1), "step");
    expect_fine(engine_digests(bench.engine, before), "digests");
    CHECK(memcmp(loaded, before, 4 * sizeof loaded[0]) != 0, "the step has changed the weights");
    put(&bench, 0);
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure again");
    expect_fine(engine_digests(bench.engine, after), "digests");
    CHECK(memcmp(before, after, 4 * sizeof before[0]) == 0, "configure keeps the weights");
    expect(step(&bench, 0, 1), FAILURE_SLOTS_EMPTY, 0, 1, "configure empties the slots");
    put(&bench, 0);
    expect_fine(step(&bench, 0, 1), "step 0 again");
    end(&bench);
}

static void test_reading(void) {
    bench_t bench = begin(ARENA);
    uint8_t out[54];
    uint32_t digests[ENGINE_MAX_TENSORS];
    expect(engine_digests(bench.engine, digests), FAILURE_NO_NETWORK, 0, 0, "digests");
    expect(engine_read_tensor(bench.engine, 0, 0, 1, out), FAILURE_NO_NETWORK, 0, 0, "read_tensor");
    load(&bench);
    const uint8_t *weights = bench.file.bytes + FILE_HEADER + 9 * FILE_RECORD;
    expect_fine(engine_read_tensor(bench.engine, 0, 0, 54, out), "the whole tensor");
    CHECK(memcmp(out, weights, 54) == 0, "the weights");
    expect_fine(engine_read_tensor(bench.engine, 0, 50, 4, out), "its end");
    CHECK(memcmp(out, weights + 50, 4) == 0, "the last weights");
    expect_fine(engine_read_tensor(bench.engine, 0, 54, 0, out), "nothing");
    expect(engine_read_tensor(bench.engine, 0, 50, 5, out), FAILURE_BAD_TENSOR, 0, 50, "beyond the end");
    expect(engine_read_tensor(bench.engine, 0, 55, 0, out), FAILURE_BAD_TENSOR, 0, 55, "an offset beyond the end");
    expect(engine_read_tensor(bench.engine, 0, 2, UINT32_MAX, out), FAILURE_BAD_TENSOR, 0, 2, "a length that wraps around");
    expect(engine_read_tensor(bench.engine, 4, 0, 1, out), FAILURE_BAD_TENSOR, 4, 0, "no such tensor");
    end(&bench);
}

static failure_t trace_slot(bench_t *bench, uint16_t slot) {
    uint8_t out[16];
    uint32_t length = sizeof out;
    return engine_trace(bench->engine, slot, 0, 0, out, &length);
}

static void test_tracing(void) {
    bench_t bench = begin(ARENA);
    uint32_t planned = 0;
    load(&bench);
    expect(trace_slot(&bench, 0), FAILURE_NOT_CONFIGURED, 0, 0, "trace");
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure");
    expect(trace_slot(&bench, BATCH), FAILURE_BAD_SLOT, BATCH, BATCH, "no such slot");
    expect(trace_slot(&bench, 1), FAILURE_SLOTS_EMPTY, 0, 1, "an empty slot");
    put(&bench, 0);
    expect_fine(trace_slot(&bench, 0), "trace");
    expect_fine(step(&bench, 0, 1), "the slot has stayed filled");
    end(&bench);
}

/* The peak is the highest byte that anything wrote, and nothing writes beyond the plan. */
static void test_peak(void) {
    bench_t bench = begin(ARENA);
    uint32_t planned = 0;
    load(&bench);
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure");
    put(&bench, 0);
    expect_fine(step(&bench, 0, 1), "step");
    const uint32_t peak = engine_arena_peak(bench.engine);
    CHECK(peak > bench.file.size && peak <= planned, "peak %u, planned %u", peak, planned);
    bench.arena[planned + 41] ^= 0xFF;
    CHECK(engine_arena_peak(bench.engine) == planned + 42, "peak %u", engine_arena_peak(bench.engine));
    bench.arena[ARENA - 1] ^= 0xFF;
    CHECK(engine_arena_peak(bench.engine) == ARENA, "peak %u", engine_arena_peak(bench.engine));
    expect_fine(engine_configure(bench.engine, &good, &planned), "configure paints again");
    CHECK(engine_arena_peak(bench.engine) <= planned, "peak %u", engine_arena_peak(bench.engine));
    end(&bench);
}

void test_engine(void) {
    test_loading();
    test_refused_file();
    test_settings();
    test_does_not_fit();
    test_slots();
    test_configure_again();
    test_reading();
    test_tracing();
    test_peak();
}
