/* Steps of FQT that fail, and tensors of affine8 that are written: docs/arithmetic-fqt.md, section 8, and
   docs/arithmetic-affine8.md, section 8. */
#include <math.h>
#include <string.h>

#include "affine8_made.h"
#include "arith/xxh32.h"
#include "check.h"
#include "methods/fqt.h"

#define UNLIMITED -NO_LIMIT, NO_LIMIT

enum { MOST_TENSORS = 24, ANY_LAYER = UINT8_MAX };

/* Fill in both samples whatever the input is, and let a step fail; nothing that is trained changes. */
static void expect_failure(const fqt_trainee_t *trainee, uint32_t layer, uint32_t cause, const char *what) {
    uint32_t before[MOST_TENSORS], after[MOST_TENSORS];
    step_result_t result;
    CHECK(engine_digests(trainee->engine, before).code == 0, "digests");
    fqt_fill(trainee, 0, 2);
    const failure_t failure = engine_step(trainee->engine, 0, 2, &result, after);
    CHECK(failure.code == FAILURE_STEP_FAILED && failure.b == cause && (layer == ANY_LAYER || failure.a == layer),
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
    CHECK(engine_digests(trainee->engine, after).code == 0, "digests");
    CHECK(memcmp(before, after, model_tensors(&trainee->engine->model) * sizeof before[0]) == 0, "%s: it changed",
          what);
    CHECK(engine_check_at_rest(trainee->engine, 1).code == FAILURE_SLOTS_EMPTY, "%s: the slots are empty", what);
    fqt_fill(trainee, 0, 2);
    const failure_t run = engine_run(trainee->engine, 3, 2, &result);
    CHECK(run.code == FAILURE_STEP_FAILED && run.b == cause, "%s, in a run: code %u", what, run.code);
}

static void write(const fqt_trainee_t *trainee, uint8_t tensor, uint32_t offset, const void *data, uint32_t n) {
    const failure_t failure = engine_write_tensor(trainee->engine, tensor, offset, n, data);
    CHECK(failure.code == 0, "tensor %u, byte %u: code %u, b %u", tensor, offset, failure.code, failure.b);
}

/* The vector: all weights of the last layer of A are 0. */
static void test_collapse(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    settings.eta = 0x1p-40f;
    affine8_network(&made, 'A', false, 0);
    for (uint32_t in_flash = 0; in_flash < 2; in_flash++) {
        fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, in_flash != 0);
        int8_t zeros[54];
        memset(zeros, affine8_tail(&trainee.engine->model, 2)->zero, sizeof zeros);
        write(&trainee, 2, 0, zeros, sizeof zeros);
        expect_failure(&trainee, 2, FQT_COLLAPSED, "all weights are 0");
        fqt_trainee_free(&trainee);
    }
    made_free(&made);
}

static void test_weight_leaves(void) {
    graph_made_t made;
    fqt_settings_t settings = fqt_defaults();
    float weights[54], biases[3] = {0x1p20f, 0x1p20f, -0x1p20f};
    settings.eta = 1.0f;
    affine8_network(&made, 'A', true, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    for (uint32_t i = 0; i < 54; i++) {
        weights[i] = i % 2 == 0 ? 0x1p20f : -0x1p20f;
    }
    write(&trainee, 2, 0, weights, sizeof weights);
    expect_failure(&trainee, 2, FQT_WEIGHT_LEAVES, "a weight beyond 2^20");
    fqt_trainee_free(&trainee);
    settings.eta = 16.0f;
    trainee = fqt_trainee_new(&made, &settings, false);
    write(&trainee, 3, 0, biases, sizeof biases);
    expect_failure(&trainee, 2, FQT_WEIGHT_LEAVES, "a bias beyond 2^20");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* What a layer with weights ends with. */
static void write_tail(const fqt_trainee_t *trainee, uint8_t l, uint8_t tensor, float scale) {
    affine8_tail_t tail = *affine8_tail(&trainee->engine->model, l);
    tail.scale = scale;
    const uint32_t weights = graph_weight_bytes(graph_layer(&trainee->engine->model.file, l));
    write(trainee, tensor, (weights + 3) / 4 * 4, &tail, sizeof tail);
}

/* Large weights in three layers behind each other: the error of the first one's output leaves 2^40. */
static void test_error_leaves(void) {
    const affine8_spec_t layers[] = {
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {0, 0}, 0, 0, 0, 3, -0x1p-12f, 0x1p-12f, UNLIMITED},
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {1, 0}, 0, 0, 0, 3, -0x1p2f, 0x1p2f, UNLIMITED},
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 3, -0x1p16f, 0x1p16f, UNLIMITED},
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {3, 0}, 0, 0, 0, 3, -0x1p29f, 0x1p29f, UNLIMITED}};
    const affine8_graph_t graph = {
        .h = 1, .w = 1, .c = 40, .scale = 0x1p-34f, .layers = 4, .layer = layers, .without_biases = true};
    const fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_finish(&made, &graph);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    for (uint8_t l = 0; l < 4; l++) {
        write_tail(&trainee, l, (uint8_t)(2 * l), l < 3 ? 0x1p14f : 0x1p13f);
    }
    expect_failure(&trainee, 1, FQT_ERROR_LEAVES, "an error beyond 2^40");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* The range of the output has to grow with s_w, and leaves 2^30. */
static void test_range_leaves(void) {
    const affine8_spec_t layers[] = {
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {0, 0}, 0, 0, 0, 3, -0x1p29f, 0x1p29f, UNLIMITED}};
    const affine8_graph_t graph = {.h = 1, .w = 1, .c = 2, .scale = 0x1p22f, .layers = 1, .layer = layers};
    fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    settings.eta = 16.0f;
    affine8_finish(&made, &graph);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    write_tail(&trainee, 0, 0, 1.0f);
    expect_failure(&trainee, 0, FQT_RANGE_LEAVES, "a range beyond 2^30");
    fqt_trainee_free(&trainee);
    settings.range_momentum = settings.range_growth = 0.0f;
    trainee = fqt_trainee_new(&made, &settings, false);
    write_tail(&trainee, 0, 0, 1.0f);
    step_result_t result;
    uint32_t digests[2];
    fqt_fill(&trainee, 0, 2);
    CHECK(engine_step(trainee.engine, 0, 2, &result, digests).code == 0, "ranges that do not move do not leave");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

static void refuse(const fqt_trainee_t *trainee, uint8_t tensor, uint32_t offset, const void *data, uint32_t n,
                   uint32_t at, const char *what) {
    const failure_t failure = engine_write_tensor(trainee->engine, tensor, offset, n, data);
    CHECK(failure.code == FAILURE_BAD_TENSOR && failure.a == tensor && failure.b == at, "%s: code %u, a %u, b %u", what,
          failure.code, failure.a, failure.b);
}

static void refuse_f32(const fqt_trainee_t *trainee, uint8_t tensor, uint32_t offset, float x, const char *what) {
    refuse(trainee, tensor, offset, &x, sizeof x, offset, what);
}

/* The weights of layer 0 of B are 8 bytes; its tail has s_w at 8, z_w at 12, low at 16 and high at 20. Tensor 2 is the
   range of its hard_swish, tensor 4 the biases of the depthwise layer, tensor 9 the range of the multiply. */
static void test_refused_writes(bool in_flash) {
    graph_made_t made;
    const fqt_settings_t settings = fqt_defaults();
    affine8_network(&made, 'B', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, in_flash);
    uint32_t before[MOST_TENSORS], after[MOST_TENSORS];
    CHECK(engine_digests(trainee.engine, before).code == 0, "digests");
    refuse_f32(&trainee, 0, 8, 0x1.fffffep-29f, "a small s_w");
    refuse_f32(&trainee, 0, 8, 0x1.000002p14f, "a large s_w");
    refuse_f32(&trainee, 0, 8, NAN, "no number");
    refuse_f32(&trainee, 0, 16, 0x1p-30f, "low above 0");
    refuse_f32(&trainee, 0, 16, -0.0f, "a low of -0");
    refuse_f32(&trainee, 0, 16, NAN, "no low");
    refuse_f32(&trainee, 0, 20, -0x1p-3f, "high below 0");
    refuse_f32(&trainee, 0, 20, NAN, "no high");
    refuse_f32(&trainee, 0, 20, 0x1p31f, "a wide range");
    const float narrow[] = {-0x1p-19f, 0.0f};
    refuse(&trainee, 0, 16, narrow, sizeof narrow, 20, "an output narrower than its sums");
    refuse_f32(&trainee, 3, 36 + 8, -0x1p-10f, "low below ReLU6");
    const float thin[] = {0.0f, 0x1.fffffep-21f};
    refuse(&trainee, 2, 0, thin, sizeof thin, 4, "a thin range");
    refuse_f32(&trainee, 2, 0, 0.5f, "low of a range above 0");
    const float product[] = {0.0f, 0x1p-19f};
    refuse(&trainee, 9, 0, product, sizeof product, 4, "a product's range narrower than it");
    refuse_f32(&trainee, 4, 4, 0x1.000002p20f, "a bias beyond 2^20");
    refuse_f32(&trainee, 4, 8, NAN, "no bias");
    refuse(&trainee, 0, 24, narrow, 4, 24, "beyond the end");
    refuse(&trainee, 17, 0, narrow, 4, 0, "no such tensor");
    CHECK(engine_digests(trainee.engine, after).code == 0, "digests");
    CHECK(memcmp(before, after, 17 * sizeof before[0]) == 0, "nothing was written");
    const int8_t least = -128;
    write(&trainee, 0, 3, &least, 1);
    CHECK(model_weights(&trainee.engine->model, 0)[3] == -128, "-128 is a weight");
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* All tensors of a trained network, in pieces of any size, make the same network of an untrained one: what follows from
   them is computed again. */
static void test_restoring(uint32_t piece, bool in_flash) {
    graph_made_t made;
    const fqt_settings_t settings = fqt_defaults();
    uint32_t digests[2][MOST_TENSORS], logits[2];
    affine8_network(&made, 'B', false, 2);
    fqt_trainee_t trained = fqt_trainee_new(&made, &settings, false),
                  restored = fqt_trainee_new(&made, &settings, in_flash);
    for (uint32_t step = 0; step < 3; step++) {
        step_result_t result;
        fqt_fill(&trained, 0, 2);
        CHECK(engine_step(trained.engine, step, 2, &result, digests[0]).code == 0, "a step");
    }
    for (uint8_t i = 0; i < model_tensors(&trained.engine->model); i++) {
        const trained_tensor_t tensor = model_tensor(&trained.engine->model, i);
        for (uint32_t at = 0; at < tensor.size; at += piece) {
            write(&restored, i, at, tensor.bytes + at, tensor.size - at < piece ? tensor.size - at : piece);
        }
    }
    CHECK(engine_digests(restored.engine, digests[1]).code == 0, "digests");
    CHECK(memcmp(digests[0], digests[1], 17 * sizeof digests[0][0]) == 0, "the same tensors");
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t predictions[2];
        infer_result_t result = {.predictions = predictions};
        const fqt_trainee_t *trainee = i == 0 ? &trained : &restored;
        fqt_fill(trainee, 0, 2);
        CHECK(engine_infer(trainee->engine, 2, &result).code == 0, "infer");
        logits[i] = result.logits_digest;
    }
    CHECK(logits[0] == logits[1], "the same logits: %08X, %08X", logits[0], logits[1]);
    fqt_trainee_free(&trained);
    fqt_trainee_free(&restored);
    made_free(&made);
}

void test_fqt_failures(void) {
    test_collapse();
    test_weight_leaves();
    test_error_leaves();
    test_range_leaves();
    test_refused_writes(false);
    test_refused_writes(true);
    test_restoring(1000, false);
    test_restoring(1000, true);
    test_restoring(4, false);
    test_restoring(7, true);
}
