/* The vectors of docs/arithmetic-qzo-ff.md, section 12; a step that comes in parts; what is refused. */
#include <stddef.h>
#include <string.h>

#include "arith/clip127.h"
#include "arith/round_away.h"
#include "arith/sqrt32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "engine/engine.h"
#include "methods/qzo_ff.h"
#include "trainer/registry.h"
#include "w16a8_made.h"

enum { ARENA = 16384 };

static uint32_t no_cycles(void) {
    return 0;
}

static const qzo_ff_settings_t plain = {.method = METHOD_QZO_FF,
                                        .batch = 2,
                                        .slots = 2,
                                        .seed = 1,
                                        .directions = 1,
                                        .epsilon = 0.001f,
                                        .eta = 0.001f,
                                        .beta1 = 0.9f,
                                        .beta2 = 0.95f,
                                        .last_layers = 64,
                                        .smoothing = 26,
                                        .keep = 26};

/* An engine with a network, in flash or in RAM. */
typedef struct {
    engine_t *engine;
    uint8_t *arena;
    w16a8_made_t made;
    uint32_t planned;
} bench_t;

static bench_t bench_of(const w16a8_made_t *made, bool flash) {
    bench_t bench = {.engine = take(sizeof *bench.engine), .arena = take(ARENA), .made = *made};
    engine_init(bench.engine, registry_formats, bench.arena, ARENA, no_cycles);
    if (!flash) {
        CHECK(engine_load_begin(bench.engine, made->size).code == 0, "load_begin");
        CHECK(engine_load_data(bench.engine, 0, made->bytes, made->size).code == 0, "load_data");
    }
    const failure_t failure =
        flash ? engine_use_flash(bench.engine, made->bytes, made->size) : engine_load_end(bench.engine);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return bench;
}

static void bench_free(bench_t *bench) {
    free(bench->engine);
    free(bench->arena);
    free(bench->made.bytes);
}

static void configure(bench_t *bench, const qzo_ff_settings_t *settings) {
    const failure_t failure =
        engine_configure(bench->engine, registry_method(METHOD_QZO_FF), settings, &bench->planned);
    CHECK(failure.code == 0, "configure: code %u, a %u, b %u", failure.code, failure.a, failure.b);
}

/* A network of one layer with five inputs and two outputs: ten weights, unit 2^-15. */
static bench_t ten_weights(const int16_t *weights, const qzo_ff_settings_t *settings) {
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
    bench_t bench = bench_of(&made, true);
    configure(&bench, settings);
    return bench;
}

static const int16_t *weights_of(const bench_t *bench, uint8_t l) {
    return (const int16_t *)(const void *)model_weights(&bench->engine->model, l);
}

static void check_s16(const int16_t *found, const int16_t *expected, uint32_t n, const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "%s, element %u: %d, not %d", what, i, found[i], expected[i]);
    }
}

/* The passes from `first` to `last` of a step, with losses whose differences have these signs, without samples. */
static void passes(bench_t *bench, step_t *step, uint32_t first, uint32_t last, const int32_t *signs) {
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

static void finish(bench_t *bench, step_t *step) {
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
    qzo_ff_settings_t settings = plain;
    settings.directions = 2;
    bench_t bench = ten_weights(weights, &settings);
    qzo_tensor_t tensor = qzo_tensor(&bench.engine->model, 0);
    tensor.n = 100;
    for (uint32_t d = 0; d < 2; d++) {
        int8_t z[100];
        const qzo_walk_t walk = qzo_walk(&bench.engine->model, &tensor, 0, d, 1);
        qzo_direction(&bench.engine->model, d)->sign = 1;
        for (uint32_t group = 0; group < 25; group++) {
            int32_t sum[4];
            qzo_signed_sums(&walk, group, sum);
            for (uint32_t i = 0; i < 4; i++) {
                z[4 * group + i] = (int8_t)sum[i];
            }
        }
        check_s8(z, expected[d], 14, "z");
        CHECK(xxh32(z, 100, 0) == digests[d], "digest of direction %u", d);
    }
    bench_free(&bench);
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
        bench_t bench = ten_weights(file, &plain);
        step_t step = {0};
        passes(&bench, &step, 0, 0, &sign);
        check_s16(weights_of(&bench, 0), up, 10, "w + d");
        passes(&bench, &step, 1, 1, &sign);
        check_s16(weights_of(&bench, 0), down, 10, "w - d");
        finish(&bench, &step);
        check_s16(weights_of(&bench, 0), i < 2 ? after[i] : rest, 10, "after");
        CHECK(i == 2 || xxh32(weights_of(&bench, 0), 20, 0) == digests[i], "digest after");
        bench_free(&bench);
    }
}

static void test_three_directions(void) {
    static const int16_t after[10] = {4, 18, 8, 74, -32632, 32636, 4980, -4999, 9, 25};
    static const int32_t signs[3] = {1, -1, 1};
    qzo_ff_settings_t settings = plain;
    settings.directions = 3;
    bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    passes(&bench, &step, 0, 5, signs);
    finish(&bench, &step);
    check_s16(weights_of(&bench, 0), after, 10, "three directions");
    CHECK(xxh32(weights_of(&bench, 0), 20, 0) == 0xE174FDA8u, "digest of three directions");
    bench_free(&bench);
}

static void test_guide(void) {
    static const int16_t v[10] = {-494, -78, 572, 442, -1586, -364, 598, 468, -494, -1118};
    static const int8_t z[10] = {-4, -35, -2, 16, -1, 56, -8, -50, -62, -40};
    static const int32_t sign = 1;
    qzo_ff_settings_t settings = plain;
    settings.guide = 128;
    bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    passes(&bench, &step, 0, 1, &sign);
    finish(&bench, &step);
    check_s16((const int16_t *)(const void *)model_buffer(&bench.engine->model, QZO_GUIDE, 0), v, 10, "v");
    int16_t before[10];
    memcpy(before, weights_of(&bench, 0), sizeof before);
    step = (step_t){.step = 1};
    passes(&bench, &step, 0, 0, &sign);
    for (uint32_t i = 0; i < 10; i++) {
        const int32_t d = weights_of(&bench, 0)[i] - before[i], expected = round_away(33 * z[i], 5);
        CHECK(d == expected, "guided by %d, not %d", d, expected);
    }
    bench_free(&bench);
}

static void test_sharpness(void) {
    static const int16_t a[10] = {-1, 16, 6, -9, 8, 3, -29, 6, -1, 25},
                         up[10] = {-21, 14, 28, 109, -32627, 32561, 4995, -4975, -14, -26};
    static const int32_t signs[2] = {1, 0};
    qzo_ff_settings_t settings = plain;
    settings.rho = 0.0005f;
    bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    CHECK(bench.engine->model.training.passes == 4, "passes");
    CHECK(qzo_tensor(&bench.engine->model, 0).rho == 16 && qzo_tensor(&bench.engine->model, 0).limit == 32572, "W");
    passes(&bench, &step, 0, 2, signs);
    check_s16(weights_of(&bench, 0), up, 10, "w + a + d");
    passes(&bench, &step, 3, 3, signs);
    finish(&bench, &step);
    for (uint32_t i = 0; i < 10; i++) {
        const int32_t d = up[i] - a[i] - weights_of(&bench, 0)[i];
        static const int16_t d0[10] = {-20, -3, 23, 18, -63, -14, 24, 19, -20, -44};
        CHECK(d == d0[i], "back from a: d is %d, not %d", d, d0[i]);
    }
    bench_free(&bench);
}

static void test_normalisation(void) {
    static const int16_t steps[10] = {-10, -2, 11, 9, -32, -7, 12, 9, -10, -22};
    static const int32_t sign = 1;
    qzo_ff_settings_t settings = plain;
    settings.normalise = 1;
    bench_t bench = ten_weights(file, &settings);
    step_t step = {0};
    passes(&bench, &step, 0, 1, &sign);
    finish(&bench, &step);
    for (uint32_t i = 0; i < 10; i++) {
        const int32_t held = clip(rest[i] - steps[i], 32636);
        CHECK(weights_of(&bench, 0)[i] == held, "normalised, element %u: %d, not %d", i, weights_of(&bench, 0)[i],
              held);
    }
    bench_free(&bench);
}

static uint32_t mask_of(const int16_t *weights, const qzo_ff_settings_t *settings) {
    bench_t bench = ten_weights(weights, settings);
    step_t step = {0};
    qzo_ff.begin_pass(&bench.engine->model, &step);
    uint8_t mask[2];
    memcpy(mask, model_buffer(&bench.engine->model, QZO_MASK, 0), 2);
    bench_free(&bench);
    return mask[0] | (uint32_t)mask[1] << 8;
}

/* `top` is of a tensor of eight. */
static uint32_t top_of_eight(uint8_t keep) {
    static const int16_t weights[10] = {5, -9, 9, 3, -9, 0, 9, 2};
    qzo_ff_settings_t settings = plain;
    settings.sparse = SPARSE_TOP;
    settings.keep = keep;
    bench_t bench = ten_weights(weights, &settings);
    qzo_tensor_t tensor = qzo_tensor(&bench.engine->model, 0);
    uint8_t mask = 0;
    tensor.n = 8;
    qzo_select_tensor(&settings, &tensor, &mask);
    bench_free(&bench);
    return mask;
}

static void test_masks(void) {
    static const int16_t sizes[10] = {327, -327, 328, -328, 0, 5, 32767, -32767, 329, 1};
    CHECK(top_of_eight(64) == 0x06u && top_of_eight(100) == 0x16u && top_of_eight(160) == 0x57u, "top");
    uint8_t mask[125] = {0};
    qzo_ff_settings_t settings = plain;
    settings.sparse = SPARSE_RANDOM;
    settings.keep = 64;
    int16_t none[1000] = {0};
    qzo_tensor_t tensor = {.n = 1000, .weights = none, .unit = 0x1p-15f};
    qzo_select_tensor(&settings, &tensor, mask);
    uint32_t count = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        count += mask[i / 8] >> i % 8 & 1u;
    }
    CHECK(count == 239 && mask[0] == 0x01 && mask[1] == 0x10, "random: %u", count);
    memset(mask, 0, sizeof mask);
    tensor.index = 3;
    qzo_select_tensor(&settings, &tensor, mask);
    CHECK(mask[0] == 0x01 && mask[1] == 0, "random of tensor 3");
    settings.sparse = SPARSE_THRESHOLD;
    settings.threshold = 0.01f;
    CHECK(mask_of(sizes, &settings) == 0x1CCu, "threshold");
}

static void test_adamw(void) {
    static const struct {
        int32_t g, after;
        float first, second, y;
    } rows[] = {
        {-19, 133, -0x1.e6666ep-5f, 0x1.20ccd2p-6f, -0x1.0624dep+5f},
        {22, 129, 0x1.f5c298p-7f, 0x1.4ac7b4p-5f, 0x1.06a22cp+2f},
        {0, 126, 0x1.c39588p-7f, 0x1.3a3db8p-5f, 0x1.9b4866p+1f},
        {92, 108, 0x1.3319d4p-2f, 0x1.cc8428p-2f, 0x1.25a31ap+4f},
    };
    adamw_moments_t moments = {0};
    float p1 = 1.0f, p2 = 1.0f;
    int32_t w = 100;
    for (uint32_t i = 0; i < 4; i++) {
        p1 = p1 * 0.9f;
        p2 = p2 * 0.95f;
        const adamw_t adamw = {.beta1 = 0.9f,
                               .beta2 = 0.95f,
                               .rest1 = 1.0f - 0.9f,
                               .rest2 = 1.0f - 0.95f,
                               .weigh1 = 1.0f - p1,
                               .weigh2 = 1.0f - p2,
                               .rate = 0.001f};
        const float y = adamw_step(&adamw, (float)rows[i].g * 0x1p-5f, &moments) / 0x1p-15f;
        w -= float32_to_integer(y);
        CHECK(moments.first == rows[i].first && moments.second == rows[i].second && y == rows[i].y &&
                  w == rows[i].after,
              "AdamW, row %u: %a %a %a %d", i, (double)moments.first, (double)moments.second, (double)y, w);
    }
}

static void test_numbers(void) {
    CHECK(sqrt32(2.0f) == 0x1.6a09e6p+0f && sqrt32(0x1.99999ap-4f) == 0x1.43d136p-2f &&
              sqrt32(0x1.05564p-128f) == 0x1.02a79ap-64f && sqrt32(0.0f) == 0.0f,
          "sqrt32");
    CHECK(float32_to_integer(0.001f / 2e-5f) == 50 && float32_to_integer(0.001f / (0.6f / 126.0f)) == 0 &&
              float32_to_integer(0.001f / (0x1p-15f * (1.0f / 255.0f))) == 8356,
          "eps_q");
    CHECK(float32_to_integer(0.5f) == 0 && float32_to_integer(1.5f) == 2 && float32_to_integer(-2.5f) == -2 &&
              float32_to_integer(8388607.0f) == 8388607 && float32_to_integer(-0x1p30f) == -(1 << 30) &&
              float32_to_integer(4194304.5f) == 4194304,
          "halves");
    CHECK(float32_of_u64(8123) == 8123.0f && float32_of_u64(UINT64_MAX) == 0x1p64f &&
              float32_of_u64((1u << 25) + 2) == 0x1p25f && float32_of_u64((1u << 25) + 6) == 0x1.000004p25f,
          "64 bits");
    for (uint32_t i = 0; i < 10000; i++) {
        const uint64_t x = (uint64_t)(uint32_t)draw(INT32_MIN, INT32_MAX) << draw(0, 32) | (uint32_t)draw(0, 99);
        CHECK(float32_of_u64(x) == (float)x, "64 bits: %llu", (unsigned long long)x);
    }
    CHECK(rounded_step(19, 0x1.0624dep+0f) == 19 && rounded_step(61, 0x1.0624dep+0f) == 62 &&
              rounded_step(127, 0x1p127f) == 1 << 30 && rounded_step(127, 0x1p-140f) == 0 &&
              rounded_step(1, 0.5f) == 1 && rounded_step(1, 0x1.fffffep-2f) == 0 &&
              rounded_step(127, 0x1p23f) == 127 << 23,
          "D");
}

static void test_schedule(void) {
    static const struct {
        uint32_t t;
        float rate;
    } rows[] = {{0, 0x1.a36e3p-15f},   {19, 0x1.0624dep-10f}, {20, 0x1.0624dcp-10f}, {21, 0x1.060b4p-10f},
                {50, 0x1.6c1498p-11f}, {60, 0x1.08c3f6p-11f}, {99, 0x1.5c5998p-17f}, {100, 0x1.4f8b58p-17f}};
    qzo_ff_settings_t settings = plain;
    settings.eta_min = 0.00001f;
    settings.warmup = 20;
    settings.steps = 100;
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(qzo_rate(&settings, rows[i].t) == rows[i].rate, "rate of step %u: %a", rows[i].t,
              (double)qzo_rate(&settings, rows[i].t));
    }
}

/* Both samples of the network of docs/arithmetic-w16a8.md, section 7, in the slots. */
static void fill(bench_t *bench, uint16_t first, uint16_t count) {
    static const uint8_t pixels[2][4] = {{200, 17, 90, 255}, {3, 240, 128, 60}};
    for (uint16_t slot = 0; slot < count; slot++) {
        const uint16_t sample = (uint16_t)(first + slot);
        CHECK(engine_put_sample(bench->engine, slot, (uint8_t)sample, pixels[sample], 4).code == 0, "a sample");
    }
}

/* A step of both samples, which are held at a time, or come one by one. */
static step_result_t train(bench_t *bench, uint32_t step, uint16_t slots, uint32_t digests[]) {
    step_result_t result;
    const uint16_t all = bench->engine->model.training.passes;
    for (uint16_t pass = 0; slots == 1 && pass < all; pass++) {
        for (uint16_t first = 0; first < 2; first++) {
            fill(bench, first, 1);
            const failure_t failure = engine_part(bench->engine, step, (uint8_t)pass, first, 1);
            CHECK(failure.code == 0, "part: code %u, a %u, b %u", failure.code, failure.a, failure.b);
        }
    }
    if (slots == 2) {
        fill(bench, 0, 2);
    }
    const failure_t failure = engine_step(bench->engine, step, 2, &result, digests);
    CHECK(failure.code == 0, "step: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return result;
}

static void check_steps(const qzo_ff_settings_t *chosen, uint16_t slots, bool flash, const float losses[2][2],
                        const uint32_t digests[2][2]) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    qzo_ff_settings_t settings = *chosen;
    settings.slots = slots;
    bench_t bench = bench_of(&made, flash);
    configure(&bench, &settings);
    for (uint32_t step = 0; step < 2; step++) {
        uint32_t found[2];
        const step_result_t result = train(&bench, step, slots, found);
        CHECK(result.loss_plus == losses[step][0] && result.loss_minus == losses[step][1], "losses of step %u: %a %a",
              step, (double)result.loss_plus, (double)result.loss_minus);
        CHECK(found[0] == digests[step][0] && found[1] == digests[step][1], "digests of step %u: %08X %08X", step,
              found[0], found[1]);
    }
    bench_free(&bench);
}

static void test_two_steps(void) {
    static const float losses4[2][2] = {{0x1.815c4ep-1f, 0x1.8e5fdep-1f}, {0x1.74e608p-1f, 0x1.9fdcb8p-1f}},
                       losses5[2][2] = {{0x1.8f5884p+0f, 0x1.837716p+0f}, {0x1.7825d4p+0f, 0x1.8c949cp+0f}};
    static const uint32_t digests4[2][2] = {{0x3B47C5B3u, 0x40326E2Du}, {0xD8D6C3D2u, 0x6B60E976u}},
                          digests5[2][2] = {{0xBC076E6Cu, 0x688A2178u}, {0x67833B81u, 0x726FC5C4u}};
    qzo_ff_settings_t settings = plain;
    settings.epsilon = settings.eta = 0.01f;
    qzo_ff_settings_t sharp = settings;
    sharp.directions = 2;
    sharp.rho = 0.02f;
    sharp.guide = 128;
    for (uint32_t i = 0; i < 4; i++) {
        const uint16_t slots = i % 2 == 0 ? 2 : 1;
        check_steps(&settings, slots, i < 2, losses4, digests4);
        check_steps(&sharp, slots, i < 2, losses5, digests5);
    }
}

void test_qzo_ff(void) {
    test_directions();
    test_streams();
    test_step_0();
    test_three_directions();
    test_guide();
    test_sharpness();
    test_normalisation();
    test_masks();
    test_adamw();
    test_numbers();
    test_schedule();
    test_two_steps();
}
