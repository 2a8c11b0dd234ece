/* The vectors of docs/arithmetic-qzo-ff.md, section 12, of a tensor: directions, moves, updates, masks. */
#include <string.h>

#include "arith/integers.h"
#include "arith/round_away.h"
#include "arith/xxh32.h"
#include "check.h"
#include "qzo_bench.h"

/* A network of one layer with five inputs and two outputs: ten weights, unit 2^-15. */
static qzo_bench_t ten_weights(const int16_t *weights, const qzo_ff_settings_t *settings) {
    static const int32_t bias[2] = {0};
    const w16a8_made_layer_t layer = {.op = OP_FULLY_CONNECTED,
                                      .out_h = 1,
                                      .out_w = 1,
                                      .out_c = 2,
                                      .scale = 1.0f,
                                      .act_min = -128,
                                      .act_max = 127,
                                      .weight_scale = 0x1p-15f,
                                      .multiplier = 1 << 30,
                                      .shift = -20,
                                      .largest = W16A8_WIDE,
                                      .weights = weights,
                                      .bias = bias};
    w16a8_made_t made;
    w16a8_begin(&made, 1, 1, 5, 2, 0);
    w16a8_append(&made, &layer);
    w16a8_finish(&made);
    qzo_bench_t bench = qzo_bench_of(&made, true);
    qzo_configure(&bench, settings);
    return bench;
}

static void check_s16(const int16_t *found, const int16_t *expected, uint32_t n, const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "%s, element %u: %d, not %d", what, i, found[i], expected[i]);
    }
}

/* The passes from `first` to `last` of a step, with losses whose differences have these signs, without samples. */
static void passes(qzo_bench_t *bench, step_t *step, uint32_t first, uint32_t last, const int32_t *signs) {
    for (uint32_t pass = first; pass <= last; pass++) {
        step->pass = (uint8_t)pass;
        if (pass > 0 && pass % 2 == 0) {
            step->pair[0] = (float)signs[pass / 2 - 1];
            step->pair[1] = 0.0f;
        }
        qzo_ff.begin_pass(&bench->engine->model, step);
    }
    step->pair[0] = (float)signs[last / 2];
    step->pair[1] = 0.0f;
}

static void finish(qzo_bench_t *bench, step_t *step) {
    (void)qzo_ff.finish(&bench->engine->model, step);
}

static void test_directions(void) {
    int8_t pool[NOISE_ENTRIES][4];
    CHECK(xxh32(direction_gaussian, 256, 0) == 0x7F3EA811u, "gaussian");
    CHECK(xxh32(direction_binomial, 256, 0) == 0xFD20F3D4u, "binomial");
    direction_pool(pool, pool_state(1, 0), direction_gaussian);
    CHECK(xxh32(pool, sizeof pool, 0) == 0xB8989072u && pool[0][0] == -51 && pool[0][3] == 15, "gaussian pool");
    direction_pool(pool, pool_state(1, 0), direction_binomial);
    CHECK(xxh32(pool, sizeof pool, 0) == 0xC6AC4A6Cu, "binomial pool");
}

/* z of the first 100 elements of tensor 0 in step 0, as the groups draw them. */
static void test_streams(void) {
    static const int8_t expected[2][14] = {{-19, -3, 22, 17, -61, -14, 23, 18, -19, -43, -31, -54, 14, -36},
                                           {-1, 32, 12, -18, 15, 6, -57, 11, -1, 50, -5, -38, -1, -10}};
    static const uint32_t digests[2] = {0x33D25456u, 0xCFFC711Eu};
    int16_t weights[10] = {0};
    qzo_ff_settings_t settings = qzo_plain;
    settings.directions = 2;
    qzo_bench_t bench = ten_weights(weights, &settings);
    qzo_tensor_t tensor = qzo_tensor(&bench.engine->model, 0);
    tensor.n = 100;
    for (uint32_t d = 0; d < 2; d++) {
        int8_t z[100];
        static const int32_t none[4] = {0};
        const qzo_walk_t walk = qzo_walk(&bench.engine->model, &tensor, 0, d, 1);
        qzo_direction(&bench.engine->model, d)->sign = 1;
        for (uint32_t group = 0; group < 25; group++) {
            int32_t sum[4];
            qzo_enter(&walk, group % NOISE_GROUPS);
            qzo_signed_sums(&walk, group % NOISE_GROUPS, none, sum);
            for (uint32_t i = 0; i < 4; i++) {
                z[4 * group + i] = (int8_t)sum[i];
            }
        }
        check_s8(z, expected[d], 14, "z");
        CHECK(xxh32(z, 100, 0) == digests[d], "digest of direction %u", d);
    }
    qzo_bench_free(&bench);
}

static const int16_t file[10] = {0, 1, -1, 100, -32767, 32767, 5000, -5000, 7, -7};
static const int16_t rest[10] = {0, 1, -1, 100, -32636, 32636, 5000, -5000, 7, -7};

static void test_step_0(void) {
    static const int16_t up[10] = {-20, -2, 22, 118, -32699, 32622, 5024, -4981, -13, -51},
                         down[10] = {20, 4, -24, 82, -32573, 32650, 4976, -5019, 27, 37},
                         after[2][10] = {{19, 4, -24, 83, -32574, 32636, 4976, -5018, 26, 37},
                                         {-19, -2, 22, 117, -32636, 32622, 5024, -4982, -12, -51}};
    static const uint32_t digests[2] = {0x2203C14Au, 0x344FE4EAu};
    for (uint32_t i = 0; i < 3; i++) {
        const int32_t sign = i == 0 ? 1 : i == 1 ? -1 : 0;
        qzo_bench_t bench = ten_weights(file, &qzo_plain);
        step_t step = {0};
        passes(&bench, &step, 0, 0, &sign);
        check_s16(qzo_weights(&bench, 0), up, 10, "w + d");
        passes(&bench, &step, 1, 1, &sign);
        check_s16(qzo_weights(&bench, 0), down, 10, "w - d");
        finish(&bench, &step);
        check_s16(qzo_weights(&bench, 0), i < 2 ? after[i] : rest, 10, "after");
        CHECK(i == 2 || xxh32(qzo_weights(&bench, 0), 20, 0) == digests[i], "digest after");
        qzo_bench_free(&bench);
    }
}

static void test_three_directions(void) {
    static const int16_t after[10] = {4, 18, 8, 74, -32632, 32636, 4980, -4999, 9, 25};
    static const int32_t signs[3] = {1, -1, 1};
    qzo_ff_settings_t settings = qzo_plain;
    settings.directions = 3;
    qzo_bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    passes(&bench, &step, 0, 5, signs);
    finish(&bench, &step);
    check_s16(qzo_weights(&bench, 0), after, 10, "three directions");
    CHECK(xxh32(qzo_weights(&bench, 0), 20, 0) == 0xE174FDA8u, "digest of three directions");
    qzo_bench_free(&bench);
}

/* The moves of all weights in step 1, along its only direction, are those of z. */
static void check_guided(qzo_bench_t *bench, const int8_t *z) {
    const int32_t sign = 1;
    int16_t before[10];
    memcpy(before, qzo_weights(bench, 0), sizeof before);
    step_t step = {.step = 1};
    passes(bench, &step, 0, 0, &sign);
    for (uint32_t i = 0; i < 10; i++) {
        const int32_t d = qzo_weights(bench, 0)[i] - before[i], expected = round_away(33 * z[i], 5);
        CHECK(d == expected, "guided by %d, not %d", d, expected);
    }
}

static void test_guide(void) {
    static const int16_t v[10] = {-494, -78, 572, 442, -1586, -364, 598, 468, -494, -1118};
    static const int8_t z[10] = {-4, -35, -2, 16, -1, 56, -8, -50, -62, -40};
    static const int32_t sign = 1;
    qzo_ff_settings_t settings = qzo_plain;
    settings.guide = 128;
    qzo_bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    passes(&bench, &step, 0, 1, &sign);
    finish(&bench, &step);
    check_s16((const int16_t *)(const void *)model_buffer(&bench.engine->model, QZO_GUIDE, 0), v, 10, "v");
    check_guided(&bench, z);
    qzo_bench_free(&bench);
}

/* Draws -3 -35 -3 15 2 57 -9 -51 -61 -38 and the largest v: 127 more and 127 less, in turn. */
static void test_guide_saturates(void) {
    static const int8_t z[10] = {124, -127, 124, -112, 127, -70, 118, -127, 66, -127};
    static const int32_t sign = 1;
    qzo_ff_settings_t settings = qzo_plain;
    settings.guide = 256;
    qzo_bench_t bench = ten_weights(file, &settings);
    step_t step = {0}; /* the first one clips weights beyond W */
    passes(&bench, &step, 0, 1, &sign);
    finish(&bench, &step);
    int16_t *v = (int16_t *)(void *)model_buffer(&bench.engine->model, QZO_GUIDE, 0);
    for (uint32_t i = 0; i < 10; i++) {
        v[i] = i % 2 == 0 ? 32512 : -32512;
    }
    check_guided(&bench, z);
    qzo_bench_free(&bench);
}

static void test_sharpness(void) {
    static const int16_t a[10] = {-1, 16, 6, -9, 8, 3, -29, 6, -1, 25},
                         up[10] = {-21, 14, 28, 109, -32627, 32561, 4995, -4975, -14, -26};
    static const int32_t signs[2] = {1, 0};
    qzo_ff_settings_t settings = qzo_plain;
    settings.rho = 0.0005f;
    qzo_bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    CHECK(bench.engine->model.training.passes == 4, "passes");
    CHECK(qzo_tensor(&bench.engine->model, 0).rho == 16 && qzo_tensor(&bench.engine->model, 0).limit == 32572, "W");
    passes(&bench, &step, 0, 2, signs);
    check_s16(qzo_weights(&bench, 0), up, 10, "w + a + d");
    passes(&bench, &step, 3, 3, signs);
    finish(&bench, &step);
    for (uint32_t i = 0; i < 10; i++) {
        const int32_t d = up[i] - a[i] - qzo_weights(&bench, 0)[i];
        static const int16_t d0[10] = {-20, -3, 23, 18, -63, -14, 24, 19, -20, -44};
        CHECK(d == d0[i], "back from a: d is %d, not %d", d, d0[i]);
    }
    qzo_bench_free(&bench);
}

static void test_normalisation(void) {
    static const int16_t steps[10] = {-10, -2, 11, 9, -32, -7, 12, 9, -10, -22};
    static const int32_t sign = 1;
    qzo_ff_settings_t settings = qzo_plain;
    settings.normalise = 1;
    qzo_bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    passes(&bench, &step, 0, 1, &sign);
    finish(&bench, &step);
    for (uint32_t i = 0; i < 10; i++) {
        const int32_t held = clip(rest[i] - steps[i], 32636);
        CHECK(qzo_weights(&bench, 0)[i] == held, "normalised, element %u: %d, not %d", i, qzo_weights(&bench, 0)[i],
              held);
    }
    qzo_bench_free(&bench);
}

/* The first places of a selection, as bits. */
static uint32_t bits_of(const selection_t *selection) {
    uint32_t bits = 0;
    for (selected_t one = selected_first(selection); one.place < 32; selected_next(&one)) {
        bits |= 1u << one.place;
    }
    return bits;
}

static uint32_t mask_of(const int16_t *weights, const qzo_ff_settings_t *settings) {
    qzo_bench_t bench = ten_weights(weights, settings);
    step_t step = {0};
    qzo_ff.begin_pass(&bench.engine->model, &step);
    const qzo_tensor_t tensor = qzo_tensor(&bench.engine->model, 0);
    const uint32_t bits = bits_of(&tensor.selection);
    qzo_bench_free(&bench);
    return bits;
}

/* `top` is of a tensor of eight. */
static uint32_t top_of_eight(uint8_t keep) {
    static const int16_t weights[10] = {5, -9, 9, 3, -9, 0, 9, 2};
    qzo_ff_settings_t settings = qzo_plain;
    settings.sparse = SPARSE_TOP;
    settings.keep = keep;
    qzo_bench_t bench = ten_weights(weights, &settings);
    qzo_tensor_t tensor = qzo_tensor(&bench.engine->model, 0);
    uint8_t code[10] = {0};
    tensor.n = 8;
    qzo_select_tensor(&settings, &tensor, code);
    qzo_bench_free(&bench);
    return bits_of(&(selection_t){.code = code, .n = 8, .gaps = qzo_keeps_gaps(&settings)});
}

static void test_masks(void) {
    static const int16_t sizes[10] = {327, -327, 328, -328, 0, 5, 32767, -32767, 329, 1};
    CHECK(top_of_eight(64) == 0x06u && top_of_eight(100) == 0x16u && top_of_eight(160) == 0x57u, "top");
    CHECK(top_of_eight(1) == 0x02u && top_of_eight(30) == 0x02u, "top, by gaps");
    uint8_t mask[125] = {0};
    qzo_ff_settings_t settings = qzo_plain;
    settings.sparse = SPARSE_RANDOM;
    settings.keep = 64;
    int16_t none[1000] = {0};
    qzo_tensor_t tensor = {.n = 1000, .weights = none, .unit = 0x1p-15f};
    qzo_select_tensor(&settings, &tensor, mask);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        count += (uint32_t)mask[i / 8] >> i % 8 & 1u;
    }
    CHECK(count == 239 && mask[0] == 0x01 && mask[1] == 0x10, "random: %u", count);
    tensor.index = 3;
    qzo_select_tensor(&settings, &tensor, mask);
    CHECK(mask[0] == 0x01 && mask[1] == 0, "random of tensor 3");
    settings.sparse = SPARSE_THRESHOLD;
    settings.threshold = 0.01f;
    CHECK(mask_of(sizes, &settings) == 0x1CCu, "threshold");
}

void test_qzo_ff(void) {
    test_directions();
    test_streams();
    test_step_0();
    test_three_directions();
    test_guide();
    test_guide_saturates();
    test_sharpness();
    test_normalisation();
    test_masks();
}
