/* What FQT refuses, what it trains of graphs with several formats, where its plan places what, and its work:
   docs/arithmetic-fqt.md, sections 4, 9 and 10. */
#include <stddef.h>
#include <string.h>

#include "affine8_made.h"
#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "methods/fqt.h"
#include "trainer/registry.h"

#define UNLIMITED -NO_LIMIT, NO_LIMIT

enum { ROOM = 1 << 20, NOTHING_REFUSED = UINT8_MAX };

static uint32_t no_cycles(void) {
    return 0;
}

/* The answer to the settings of a method for a network. */
static failure_t answer(const graph_made_t *made, const void *settings, uint8_t method) {
    engine_t *engine = take(sizeof *engine);
    uint8_t *arena = take(ROOM);
    uint32_t planned;
    engine_init(engine, registry_formats, arena, ROOM, no_cycles);
    CHECK(engine_load_begin(engine, made->size).code == 0, "load_begin");
    CHECK(engine_load_data(engine, 0, made->bytes, made->size).code == 0, "load_data");
    const failure_t loaded = engine_load_end(engine);
    CHECK(loaded.code == 0, "code %u, a %u, b %u", loaded.code, loaded.a, loaded.b);
    const failure_t failure = engine_configure(engine, registry_method(method), settings, &planned);
    free(engine);
    free(arena);
    return failure;
}

/* `place`: of the setting that is refused. */
static void expect(const graph_made_t *made, const fqt_settings_t *settings, uint8_t place, const char *what) {
    const failure_t failure = answer(made, settings, METHOD_FQT);
    const bool refused = place != NOTHING_REFUSED;
    CHECK(failure.code == (refused ? FAILURE_BAD_SETTING : 0), "%s: code %u, a %u, b %u", what, failure.code, failure.a,
          failure.b);
    CHECK(!refused || failure.a == setting_index(&fqt_settings_table, place), "%s: setting %u", what, failure.a);
}

static void test_lambda(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    affine8_network(&made, 'A', false, 0);
    expect(&made, &settings, NOTHING_REFUSED, "the defaults");
    settings.lambda_max = 0.5f;
    expect(&made, &settings, offsetof(fqt_settings_t, lambda_max), "lambda_max below lambda_min");
    settings.lambda_min = 0.5f;
    expect(&made, &settings, NOTHING_REFUSED, "both the same");
    settings.lambda_min = 1.5f;
    expect(&made, &settings, offsetof(fqt_settings_t, lambda_min), "a share above 1");
    made_free(&made);
}

/* A pool whose windows overlap; it may be before t. A layer whose squares could leave 64 bits. */
static void test_layers_that_are_refused(void) {
    const affine8_spec_t pooled[] = {{OP_CONV2D, FORMAT_AFFINE8, {0, 0}, 3, 1, 1, 2, -4.0f, 4.0f, UNLIMITED},
                                     {OP_MAX_POOL, FORMAT_AFFINE8, {1, 0}, 2, 1, 0, 0, 0.0f, 0.0f, UNLIMITED},
                                     {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 3, -4.0f, 4.0f, UNLIMITED}};
    const affine8_spec_t large[] = {{OP_CONV2D, FORMAT_AFFINE8, {0, 0}, 4, 1, 2, 1, -4.0f, 4.0f, UNLIMITED},
                                    {OP_AVERAGE_POOL, FORMAT_AFFINE8, {1, 0}, 16, 16, 0, 0, 0.0f, 0.0f, UNLIMITED},
                                    {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 3, -4.0f, 4.0f, UNLIMITED}};
    affine8_graph_t graph = {.h = 6, .w = 6, .c = 1, .scale = 0x1p-8f, .layers = 3, .layer = pooled};
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    affine8_finish(&made, &graph);
    expect(&made, &settings, offsetof(fqt_settings_t, last_layers), "windows overlap");
    settings.last_layers = 1;
    expect(&made, &settings, NOTHING_REFUSED, "before t they may");
    made_free(&made);
    graph = (affine8_graph_t){.h = 127, .w = 127, .c = 1, .scale = 0x1p-8f, .layers = 3, .layer = large};
    settings = fqt_defaults();
    affine8_finish(&made, &graph);
    expect(&made, &settings, NOTHING_REFUSED, "16 weights and 2^14 positions: 2^32");
    made_free(&made);
    graph.c = 2;
    affine8_finish(&made, &graph);
    expect(&made, &settings, offsetof(fqt_settings_t, last_layers), "32 weights");
    made_free(&made);
}

/* A conv2d and a pool of tflite8, which stay as they are. */
static const affine8_spec_t behind_tflite8[] = {
    {OP_CONV2D, FORMAT_TFLITE8, {0, 0}, 3, 1, 1, 2, 0.0f, 2.0f, 0.0f, 0.0f},
    {OP_MAX_POOL, FORMAT_TFLITE8, {1, 0}, 2, 2, 0, 0, 0.0f, 2.0f, 0.0f, 0.0f},
    {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 4, -1.0f, 1.0f, 0.0f, NO_LIMIT},
    {OP_CAST, FORMAT_FLOAT32, {3, 0}, 0, 0, 0, 0, 0.0f, 0.0f, UNLIMITED},
    {OP_FULLY_CONNECTED, FORMAT_FLOAT32, {4, 0}, 0, 0, 0, 3, 0.0f, 0.0f, UNLIMITED}};

static graph_made_t made_behind_tflite8(void) {
    affine8_spec_t layers[5];
    const affine8_graph_t graph = {
        .h = 6, .w = 6, .c = 1, .scale = 0x1p-8f, .zero = -128, .rounding = 3, .layers = 5, .layer = layers};
    graph_made_t made;
    memcpy(layers, behind_tflite8, sizeof layers);
    layers[2].low = 0.0f; /* a ReLU */
    affine8_finish(&made, &graph);
    return made;
}

static void test_three_formats(void) {
    const fqt_settings_t settings = fqt_defaults();
    const graph_made_t made = made_behind_tflite8();
    uint32_t digests[2][4];
    for (uint32_t in_flash = 0; in_flash < 2; in_flash++) {
        fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, in_flash != 0);
        const graph_file_t *file = &trainee.engine->model.file;
        const graph_layer_t *conv = graph_layer(file, 0), *fc = graph_layer(file, 2);
        const uint32_t before = xxh32(file->bytes + conv->weights_offset, fc->weights_offset - conv->weights_offset, 0);
        CHECK(model_tensors(&trainee.engine->model) == 4, "%u tensors", model_tensors(&trainee.engine->model));
        for (uint32_t step = 0; step < 3; step++) {
            step_result_t result;
            fqt_fill(&trainee, 0, 2);
            CHECK(engine_step(trainee.engine, step, 2, &result, digests[in_flash]).code == 0, "a step");
        }
        CHECK(xxh32(file->bytes + conv->weights_offset, fc->weights_offset - conv->weights_offset, 0) == before,
              "tflite8 stays");
        fqt_trainee_free(&trainee);
    }
    CHECK(memcmp(digests[0], digests[1], sizeof digests[0]) == 0, "the same in RAM and in flash");
    graph_made_t to_free = made;
    made_free(&to_free);
}

/* A layer of tflite8 after t; no layer that may be trained; methods of one format. */
static void test_formats_that_are_refused(void) {
    const affine8_spec_t late[] = {{OP_CONV2D, FORMAT_TFLITE8, {0, 0}, 1, 1, 0, 2, 0.0f, 2.0f, 0.0f, 0.0f},
                                   {OP_CONV2D, FORMAT_AFFINE8, {1, 0}, 1, 1, 0, 2, -4.0f, 4.0f, UNLIMITED},
                                   {OP_CONV2D, FORMAT_TFLITE8, {1, 0}, 1, 1, 0, 2, 0.0f, 2.0f, 0.0f, 0.0f},
                                   {OP_ADD, FORMAT_AFFINE8, {2, 3}, 0, 0, 0, 0, -4.0f, 4.0f, UNLIMITED},
                                   {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {4, 0}, 0, 0, 0, 3, -4.0f, 4.0f, UNLIMITED}};
    const affine8_graph_t graph = {.h = 3, .w = 3, .c = 1, .scale = 0x1p-8f, .zero = -128, .layers = 5, .layer = late};
    fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_finish(&made, &graph);
    expect(&made, &settings, offsetof(fqt_settings_t, last_layers), "tflite8 after t");
    settings.last_layers = 1;
    expect(&made, &settings, NOTHING_REFUSED, "tflite8 before t");
    made_free(&made);
    made_small(&made);
    expect(&made, &settings, offsetof(fqt_settings_t, last_layers), "nothing to train");
    made_free(&made);
    const elasticzo_fp32_settings_t other = {
        .method = METHOD_ELASTICZO_FP32, .epsilon = 0.001f, .eta = 0.05f, .g_clip = 2.0f, .batch = 2, .slots = 2};
    affine8_network(&made, 'C', false, 0);
    const failure_t failure = answer(&made, &other, METHOD_ELASTICZO_FP32);
    CHECK(failure.code == FAILURE_NETWORK_LAYER && failure.a == 0 && failure.b == 5, "ElasticZO: code %u, a %u, b %u",
          failure.code, failure.a, failure.b);
    made_free(&made);
    affine8_network(&made, 'A', true, 0);
    CHECK(answer(&made, &other, METHOD_ELASTICZO_FP32).code == 0, "ElasticZO trains float32");
    made_free(&made);
}

/* The table of section 13. */
static void test_share(void) {
    static const struct {
        float loss, largest, least, most;
        uint8_t rate, channels;
        uint32_t share, count;
    } rows[] = {{0.5f, 2.0f, 0.1f, 1.0f, RATE_RATIO, 10, 0x3EA66666, 3},
                {0.5f, 2.0f, 0.1f, 1.0f, RATE_RATIO, 8, 0x3EA66666, 2},
                {0.0f, 2.0f, 0.1f, 1.0f, RATE_RATIO, 9, 0x3DCCCCCD, 1},
                {0.5f, 2.0f, 0.7f, 0.7f, RATE_RATIO, 10, 0x3F333333, 7},
                {0.5f, 2.0f, 0.1f, 1.0f, RATE_DIFFERENCE, 10, 0x3F800000, 10},
                {1.9f, 2.0f, 0.1f, 1.0f, RATE_DIFFERENCE, 30, 0x3E428F5E, 5},
                {0.0f, 0.0f, 0.1f, 1.0f, RATE_RATIO, 10, 0x3DCCCCCD, 1}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fqt_settings_t settings = {.lambda_min = rows[i].least, .lambda_max = rows[i].most, .rate = rows[i].rate};
        const float share = fqt_share(&settings, rows[i].loss, rows[i].largest);
        CHECK(float32_bits(share) == rows[i].share && fqt_count(share, rows[i].channels) == rows[i].count,
              "row %u: %08X, %u", i, float32_bits(share), fqt_count(share, rows[i].channels));
    }
}

static void test_select(void) {
    static const uint32_t norms[] = {5, 9, 9, 0, 7};
    static const uint16_t kept[3][3] = {{1}, {1, 2}, {1, 2, 4}};
    uint16_t found[40];
    for (uint32_t k = 1; k <= 3; k++) {
        fqt_select(norms, 5, k, found);
        CHECK(memcmp(found, kept[k - 1], k * sizeof found[0]) == 0, "%u of five", k);
    }
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t drawn[40];
        const uint32_t n = (uint32_t)draw(1, 40), count = (uint32_t)draw(1, (int32_t)n);
        const int32_t most = draw(0, 1) == 0 ? 3 : INT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            drawn[i] = (uint32_t)draw(0, most) << draw(0, 1);
        }
        fqt_select(drawn, n, count, found);
        uint32_t next = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t before = 0; /* channels that come before this one */
            for (uint32_t j = 0; j < n; j++) {
                before += drawn[j] > drawn[i] || (drawn[j] == drawn[i] && j < i);
            }
            if (before < count) {
                CHECK(next < count && found[next++] == i, "channel %u of %u", i, n);
            }
        }
    }
}

/* Which channels of a layer some sample of the step kept. */
static uint32_t kept_of(const fqt_trainee_t *trainee, uint8_t l) {
    return *(const uint8_t *)model_buffer(&trainee->engine->model, FQT_KEPT, l);
}

static void test_kept_of_a(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    settings.lambda_min = 0.1f;
    settings.sparse_head = 1;
    settings.slots = 1;
    affine8_network(&made, 'A', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    fqt_fill(&trainee, 0, 1);
    CHECK(engine_part(trainee.engine, 0, 0, 0, 1).code == 0, "a part");
    CHECK(kept_of(&trainee, 0) == 3 && kept_of(&trainee, 2) == 7, "the first sample has the largest loss");
    fqt_fill(&trainee, 1, 1);
    CHECK(engine_part(trainee.engine, 0, 0, 1, 1).code == 0, "a part");
    CHECK(kept_of(&trainee, 0) == 3 && kept_of(&trainee, 2) == 7, "those of both");
    fqt_trainee_free(&trainee);
    settings.lambda_max = 0.8f;
    trainee = fqt_trainee_new(&made, &settings, false);
    for (uint32_t step = 0; step < 2; step++) {
        step_result_t result;
        uint32_t digests[4];
        fqt_fill(&trainee, 0, 1);
        CHECK(engine_part(trainee.engine, step, 0, 0, 1).code == 0, "a part");
        CHECK(kept_of(&trainee, 0) == 1 && kept_of(&trainee, 2) == 5, "sample 0: 0, and 0 2");
        fqt_fill(&trainee, 1, 1);
        CHECK(engine_part(trainee.engine, step, 0, 1, 1).code == 0, "a part");
        CHECK(kept_of(&trainee, 0) == 3 && kept_of(&trainee, 2) == 7, "sample 1: 1, and 1");
        CHECK(engine_step(trainee.engine, step, 2, &result, digests).code == 0, "a step");
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

static void test_kept_of_b(bool in_float32) {
    static const uint8_t layers[] = {0, 2, 4, 5, 7, 9};
    static const uint8_t kept[2][2][6] = {{{1, 2, 1, 2, 3, 0}, {1, 2, 1, 2, 3, 1}},
                                          {{1, 2, 1, 2, 1, 0}, {0, 2, 1, 2, 3, 1}}};
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    settings.lambda_min = settings.lambda_max = 0.4f;
    settings.slots = 1;
    affine8_network(&made, 'B', in_float32, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    for (uint32_t step = 0; step < 2; step++) {
        step_result_t result;
        uint32_t digests[24], seen[6] = {0};
        for (uint16_t sample = 0; sample < 2; sample++) {
            fqt_fill(&trainee, sample, 1);
            CHECK(engine_part(trainee.engine, step, 0, sample, 1).code == 0, "a part");
            for (uint32_t i = 0; i < 6; i++) {
                seen[i] |= 1u << kept[step][sample][i];
                CHECK(kept_of(&trainee, layers[i]) == seen[i], "step %u, sample %u, layer %u: %u", step, sample,
                      layers[i], kept_of(&trainee, layers[i]));
            }
            CHECK(kept_of(&trainee, 11) == 7, "the head keeps all");
        }
        CHECK(engine_step(trainee.engine, step, 2, &result, digests).code == 0, "a step");
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* Products and layer runs of two samples. A: 648 + 54 forward; 54 + 54 + 648 back. B with one channel a layer: 1,417
   forward; 18, 288, 128, 4, 8, 288 and 32 back. */
static void test_work(void) {
    static const struct {
        char network;
        float share;
        uint64_t products, runs;
    } rows[] = {{'A', 1.0f, 2 * 1458, 2 * 6}, {'B', 0.4f, 2 * (1417 + 766), 2 * 24}};
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t in_float32 = 0; in_float32 < 2; in_float32++) {
            graph_made_t made;
            step_result_t result;
            uint32_t digests[24];
            fqt_settings_t settings = fqt_defaults();
            settings.lambda_min = settings.lambda_max = rows[i].share;
            affine8_network(&made, rows[i].network, in_float32 != 0, 0);
            fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
            fqt_fill(&trainee, 0, 2);
            CHECK(engine_step(trainee.engine, 0, 2, &result, digests).code == 0, "a step");
            CHECK(trainee.engine->model.macs == rows[i].products && trainee.engine->model.layer_runs == rows[i].runs,
                  "%c: %llu products, %llu runs", rows[i].network, (unsigned long long)trainee.engine->model.macs,
                  (unsigned long long)trainee.engine->model.layer_runs);
            fqt_trainee_free(&trainee);
            made_free(&made);
        }
    }
}

/* Where the plan of A places what, by hand: the file ends at 312, what stays at 792. */
static void test_plan_of_a(void) {
    static const struct {
        uint16_t place;
        uint32_t at;
    } rows[] = {{PLAN_LABELS, 312},
                {PLAN_SAMPLES, 320},
                {FQT_OBSERVED, 392},
                {PLAN_GRADIENT * PLAN_LENGTH + 0, 400},
                {PLAN_GRADIENT * PLAN_LENGTH + 2, 480},
                {FQT_KEPT * PLAN_LENGTH + 0, 712},
                {FQT_KEPT * PLAN_LENGTH + 2, 720},
                {FQT_STATISTICS * PLAN_LENGTH + 0, 728},
                {FQT_STATISTICS * PLAN_LENGTH + 2, 752},
                {PLAN_WORK * PLAN_LENGTH + 0, 792},   /* 512 bytes, slot 0 */
                {PLAN_SUMS * PLAN_LENGTH + 0, 792},   /* 440, slot 6 */
                {PLAN_SUMS * PLAN_LENGTH + 2, 792},   /* 240, slot 4 */
                {PLAN_BACK * PLAN_LENGTH + 2, 1032},  /* 80, slot 4 */
                {PLAN_VALUE * PLAN_LENGTH + 1, 1304}, /* 72, slots 0..6 */
                {PLAN_ERROR * PLAN_LENGTH + 1, 1232}, /* 72, slots 5..6 */
                {PLAN_VALUE * PLAN_LENGTH + 2, 1112}, /* 24, slots 1..4 */
                {PLAN_ERROR * PLAN_LENGTH + 2, 1136}, /* 24, slots 4..5 */
                {FQT_RANK * PLAN_LENGTH + 2, 1160},   /* 24, slot 4 */
                {PLAN_WORK * PLAN_LENGTH + 2, 792},   /* 16, slot 2 */
                {FQT_RANK * PLAN_LENGTH + 0, 1376},   /* 16, slot 6 */
                {PLAN_VALUE * PLAN_LENGTH + 3, 1184}, /* 8, slots 2..4 */
                {PLAN_ERROR * PLAN_LENGTH + 3, 1192}, /* 8, slots 3..4 */
                {PLAN_BACK * PLAN_LENGTH + 1, PLAN_NOWHERE},
                {PLAN_VALUE * PLAN_LENGTH + 0, PLAN_NOWHERE}};
    const fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_network(&made, 'A', false, 0);
    CHECK(made.size == 308, "the file has %u bytes", made.size);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    CHECK(trainee.planned == 1392, "%u bytes", trainee.planned);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(trainee.engine->model.plan.at[rows[i].place] == rows[i].at, "row %u: %u", i,
              trainee.engine->model.plan.at[rows[i].place]);
    }
    fqt_trainee_free(&trainee);
    trainee = fqt_trainee_new(&made, &settings, true); /* theta 48, beta 8, theta 88, beta 16 */
    CHECK(trainee.planned == 1392 - 312 + 160, "in flash: %u bytes", trainee.planned);
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* What stays of B with ranges of errors: those, and the table of its hard_swish, which is reached or not. */
static void test_lines_that_stay(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    affine8_network(&made, 'B', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    const uint32_t usual = trainee.engine->model.plan.always;
    const uint32_t table = plan_at(&trainee.engine->model.plan, AFFINE8_TABLE, 1);
    CHECK(trainee.engine->model.plan.at[plan_place(PLAN_GRADIENT, 0)] - table == 768, "a table with slopes");
    fqt_trainee_free(&trainee);
    settings.error_range = ERROR_RANGE_RUNNING;
    trainee = fqt_trainee_new(&made, &settings, false);
    CHECK(trainee.engine->model.plan.always == usual + 16 * 12, "16 bytes a layer");
    fqt_trainee_free(&trainee);
    settings = fqt_defaults();
    settings.last_layers = 6;
    trainee = fqt_trainee_new(&made, &settings, false);
    CHECK(trainee.engine->model.plan.at[plan_place(PLAN_GRADIENT, 2)] -
                  plan_at(&trainee.engine->model.plan, AFFINE8_TABLE, 1) ==
              256,
          "a table without");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

void test_fqt_settings(void) {
    test_lambda();
    test_layers_that_are_refused();
    test_three_formats();
    test_formats_that_are_refused();
    test_share();
    test_select();
    test_kept_of_a();
    test_kept_of_b(false);
    test_kept_of_b(true);
    test_work();
    test_plan_of_a();
    test_lines_that_stay();
}
