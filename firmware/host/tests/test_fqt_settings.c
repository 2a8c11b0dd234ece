/* What FQT refuses, and what it trains of graphs with several formats: docs/arithmetic-fqt.md, section 9. */
#include <stddef.h>
#include <string.h>

#include "arith/xxh32.h"
#include "check.h"
#include "fqt_trainee.h"
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

void test_fqt_settings(void) {
    test_lambda();
    test_layers_that_are_refused();
    test_three_formats();
    test_formats_that_are_refused();
}
