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
        count += (uint32_t)mask[i / 8] >> i % 8 & 1u;
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
                        const uint32_t digests[2][3]) {
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
        CHECK(xxh32(found, sizeof found, 0) == digests[step][2], "the digest of step %u", step);
    }
    bench_free(&bench);
}

static void test_two_steps(void) {
    static const float losses4[2][2] = {{0x1.815c4ep-1f, 0x1.8e5fdep-1f}, {0x1.74e608p-1f, 0x1.9fdcb8p-1f}},
                       losses5[2][2] = {{0x1.8f5884p+0f, 0x1.837716p+0f}, {0x1.7825d4p+0f, 0x1.8c949cp+0f}};
    static const uint32_t digests4[2][3] = {{0x3B47C5B3u, 0x40326E2Du, 0x7B7B0C42u},
                                            {0xD8D6C3D2u, 0x6B60E976u, 0x41DC8E1Cu}},
                          digests5[2][3] = {{0xBC076E6Cu, 0x688A2178u, 0x08921C6Bu},
                                            {0x67833B81u, 0x726FC5C4u, 0x9AF8B76Au}};
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

/* The losses of each pair of passes of step 0, sharpness first; parts that do not follow are refused. */
static void test_passes(void) {
    static const float pairs[3][2] = {
        {0x1.84e0bap-1f, 0x1.8ad76cp-1f}, {0x1.805818p-1f, 0x1.8ad76cp-1f}, {0x1.9e58fp-1f, 0x1.7c16cp-1f}};
    w16a8_made_t made;
    w16a8_made_network(&made);
    bench_t bench = bench_of(&made, true);
    qzo_ff_settings_t settings = plain;
    settings.epsilon = settings.eta = 0.01f;
    settings.directions = 2;
    settings.rho = 0.02f;
    settings.guide = 128;
    configure(&bench, &settings);
    for (uint8_t pass = 0; pass < 6; pass++) {
        fill(&bench, 0, 1);
        if (pass < 4) {
            const failure_t ahead = engine_part(bench.engine, 0, (uint8_t)(pass + 2), 0, 1);
            CHECK(ahead.code == FAILURE_OUT_OF_ORDER, "a pass is left out: code %u", ahead.code);
        }
        CHECK(engine_part(bench.engine, 0, pass, 0, 1).code == 0, "the first sample of pass %u", pass);
        fill(&bench, 1, 1);
        if (pass > 0 && pass < 5) {
            const failure_t early = engine_part(bench.engine, 0, (uint8_t)(pass + 1), 0, 1);
            CHECK(early.code == FAILURE_PARTS_MISSING && early.a == 1 && early.b == 2, "a pass of one sample");
        }
        CHECK(engine_part(bench.engine, 0, pass, 1, 1).code == 0, "the second sample of pass %u", pass);
        const float *pair = bench.engine->under_way.pair;
        CHECK(pair[pass % 2] == pairs[pass / 2][pass % 2], "the losses of pass %u: %a", pass, (double)pair[pass % 2]);
    }
    fill(&bench, 0, 1);
    CHECK(engine_part(bench.engine, 0, 6, 0, 1).code == FAILURE_BAD_SLOT, "a pass too many");
    bench_free(&bench);
}

/* Layers of 301 and of 14 weights. */
static void make_drawn(w16a8_made_t *made) {
    static int16_t weights[2][301];
    static int32_t bias[2][7];
    for (uint32_t i = 0; i < 301; i++) {
        weights[0][i] = (int16_t)draw(-32767, 32767);
        weights[1][i] = (int16_t)draw(-32767, 32767);
    }
    for (uint32_t i = 0; i < 7; i++) {
        bias[0][i] = draw(-(1 << 20), 1 << 20);
        bias[1][i] = draw(-(1 << 20), 1 << 20);
    }
    w16a8_made_layer_t layer = {.op = OP_FULLY_CONNECTED,
                                .out_h = 1,
                                .out_w = 1,
                                .out_c = 7,
                                .scale = 0x1p-5f,
                                .zero = 3,
                                .act_min = -128,
                                .act_max = 127,
                                .weight_scale = 0x1p-14f,
                                .multiplier = 1 << 30,
                                .shift = -16,
                                .largest = W16A8_WIDE,
                                .weights = weights[0],
                                .bias = bias[0]};
    w16a8_begin(made, 1, 43, 1, 2, -20);
    w16a8_append(made, &layer);
    layer.reads[0] = 1;
    layer.out_c = 2;
    layer.weights = weights[1];
    layer.bias = bias[1];
    w16a8_append(made, &layer);
    w16a8_finish(made);
}

/* A digest of what some steps give. */
static uint32_t outcome(const w16a8_made_t *made, const qzo_ff_settings_t *settings, bool flash) {
    enum { STEPS = 4 };
    w16a8_made_t copy = *made;
    copy.bytes = take(made->size);
    memcpy(copy.bytes, made->bytes, made->size);
    bench_t bench = bench_of(&copy, flash);
    configure(&bench, settings);
    uint32_t sum = 0, digests[8];
    for (uint32_t step = 0; step < STEPS; step++) {
        step_result_t result;
        uint8_t pixels[43];
        for (uint16_t slot = 0; slot < 2; slot++) {
            for (uint32_t i = 0; i < sizeof pixels; i++) {
                pixels[i] = (uint8_t)((slot + 1u) * 2654435761u * (i + 7) >> 11);
            }
            CHECK(engine_put_sample(bench.engine, slot, (uint8_t)slot, pixels, sizeof pixels).code == 0, "a sample");
        }
        CHECK(engine_step(bench.engine, step, 2, &result, digests).code == 0, "a step");
        for (uint8_t i = 0; i < model_tensors(&bench.engine->model); i++) {
            sum = sum * 31u + digests[i];
        }
        sum = sum * 31u + float32_bits(result.loss_plus) * 7u + float32_bits(result.loss_minus);
    }
    bench_free(&bench);
    return sum;
}

/* What moves weights four at a time, and what moves them one by one, gives the same: a mask of all weights, or a
   momentum that never guides, takes the second way. */
static void test_ways(void) {
    for (uint32_t round = 0; round < 24; round++) {
        w16a8_made_t made;
        make_drawn(&made);
        qzo_ff_settings_t settings = plain;
        settings.seed = (uint32_t)draw(0, 1 << 30);
        settings.directions = (uint8_t)(round % 3 + 1);
        settings.epsilon = draw(0, 1) ? 0.05f : 0.003f;
        settings.rho = draw(0, 2) == 0 ? 0.01f : 0.0f;
        settings.eta = draw(0, 1) ? 1.0f : 0.01f;
        settings.train_bias = (uint8_t)draw(0, 1);
        settings.last_layers = (uint8_t)draw(1, 2);
        settings.distribution = (uint8_t)draw(0, 1);
        settings.normalise = (uint8_t)draw(0, 1);
        settings.optimizer = (uint8_t)(draw(0, 2) == 0);
        const uint32_t expected = outcome(&made, &settings, true);
        CHECK(outcome(&made, &settings, false) == expected, "round %u: the file in RAM", round);
        qzo_ff_settings_t masked = settings, led = settings;
        masked.sparse = SPARSE_THRESHOLD;
        led.guide = 256;
        led.guide_from = UINT32_MAX;
        CHECK(outcome(&made, &masked, true) == expected, "round %u: a mask of all weights", round);
        CHECK(outcome(&made, &led, true) == expected, "round %u: a momentum that does not guide", round);
        free(made.bytes);
    }
}

static void expect_setting(const w16a8_made_t *made, qzo_ff_settings_t settings, uint8_t place, const char *what) {
    w16a8_made_t copy = *made;
    copy.bytes = take(made->size);
    memcpy(copy.bytes, made->bytes, made->size);
    bench_t bench = bench_of(&copy, true);
    uint32_t planned;
    const failure_t failure = engine_configure(bench.engine, registry_method(METHOD_QZO_FF), &settings, &planned);
    const bool taken = place == METHOD_TAKES_ALL;
    CHECK(taken ? failure.code == 0
                : failure.code == FAILURE_BAD_SETTING && failure.a == setting_index(&qzo_ff_settings_table, place),
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
    bench_free(&bench);
}

#define EXPECT(setting, value, refused)                                                                                \
    do {                                                                                                               \
        qzo_ff_settings_t changed = settings;                                                                          \
        changed.setting = (value);                                                                                     \
        expect_setting(&made, changed, (refused), #setting " = " #value);                                              \
    } while (0)
#define PLACE(setting) ((uint8_t)offsetof(qzo_ff_settings_t, setting))

/* The units of the network are 2^-15 and 2^-14. */
static void test_refusals(void) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    qzo_ff_settings_t settings = plain;
    EXPECT(epsilon, 0x1p-16f, PLACE(epsilon));
    EXPECT(epsilon, 0x1.000002p-16f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 4128.0f * 0x1p-15f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 4129.0f * 0x1p-15f, PLACE(epsilon));
    EXPECT(rho, 0x1p-16f, PLACE(rho));
    EXPECT(rho, 4095.0f * 0x1p-15f, METHOD_TAKES_ALL);
    EXPECT(rho, 4100.0f * 0x1p-15f, PLACE(rho));
    EXPECT(eta, 5.30e-6f, PLACE(eta));
    EXPECT(eta, 5.31e-6f, METHOD_TAKES_ALL);
    EXPECT(eta_min, 0.002f, PLACE(eta_min));
    EXPECT(steps, 1, METHOD_TAKES_ALL);
    settings.warmup = 20;
    EXPECT(steps, 20, PLACE(steps));
    EXPECT(steps, 21, METHOD_TAKES_ALL);
    settings = plain;
    settings.eta = 1e-5f;
    EXPECT(directions, 127, PLACE(directions));
    EXPECT(optimizer, OPTIMIZER_ADAMW, PLACE(eta));
    settings.normalise = 1;
    EXPECT(directions, 127, METHOD_TAKES_ALL);
    settings = plain;
    settings.sparse = SPARSE_THRESHOLD;
    EXPECT(threshold, 1.8f, METHOD_TAKES_ALL);
    EXPECT(threshold, 1.9f, PLACE(threshold));
    settings = plain;
    for (uint8_t l = 0; l < 2; l++) { /* weights of 8 bits stay as they are: that is no mistake */
        int16_t *weights = (int16_t *)(void *)(made.bytes + made.record[l].weights_offset);
        for (uint32_t i = 0; i < graph_weight_count(&made.record[l]); i++) {
            weights[i] = (int16_t)(weights[i] / 300);
        }
        w16a8_made_parameters(&made, l)->largest = W16A8_NARROW;
    }
    w16a8_seal(&made);
    EXPECT(epsilon, 0x1p-16f, METHOD_TAKES_ALL);
    EXPECT(epsilon, 0x1p-10f, PLACE(epsilon)); /* further than half of the range */
    settings.epsilon = 0x1p-16f;
    EXPECT(eta, 5.30e-6f, METHOD_TAKES_ALL);
    free(made.bytes);
}

/* Weights beyond w_max are not written, whatever the pieces; and what was written is held again. */
static void test_writes(void) {
    static const uint8_t low[2] = {0x00, 0x80}, high[2] = {0xFF, 0x7F}, part = 0x80;
    w16a8_made_t made;
    w16a8_made_network(&made);
    bench_t bench = bench_of(&made, true);
    configure(&bench, &plain);
    CHECK(engine_write_tensor(bench.engine, 0, 2, 2, low).code == FAILURE_BAD_TENSOR, "a weight of -32768");
    CHECK(engine_write_tensor(bench.engine, 0, 2, 2, high).code == 0, "a weight of 32767");
    CHECK(engine_write_tensor(bench.engine, 0, 0, 1, &part).code == 0, "a low byte");
    CHECK(weights_of(&bench, 0)[0] == (9000 & ~0xFF) + 0x80 && weights_of(&bench, 0)[1] == 32767, "what was written");
    uint32_t digests[2];
    (void)train(&bench, 0, 2, digests);
    CHECK(weights_of(&bench, 0)[1] <= qzo_tensor(&bench.engine->model, 0).limit, "held at rest");
    bench_free(&bench);
}

/* docs/memory-graph.md: theta, labels, samples, directions; the noise overlaps the values. */
static void test_memory(void) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    bench_t bench = bench_of(&made, true);
    qzo_ff_settings_t settings = plain;
    configure(&bench, &settings);
    CHECK(bench.planned == 24 + 16 + 8 + 8 + 8 + 4096, "plain: %u", bench.planned);
    settings.directions = 3;
    settings.rho = 0.01f;
    settings.sparse = SPARSE_TOP;
    settings.guide = 1;
    settings.optimizer = OPTIMIZER_ADAMW;
    settings.train_bias = 1;
    configure(&bench, &settings);
    CHECK(bench.planned == 24 + 16 + 16 + 8 + 8 + 8 + 32 + 8 + 8 + 32 + 16 + 120 + 64 + 4096, "all: %u", bench.planned);
    bench_free(&bench);
}

static void append_layer(w16a8_made_t *made, enum op op, uint8_t kernel, uint8_t stride, uint8_t padding, uint16_t side,
                         uint16_t channels) {
    static const int16_t weights[784 * 120];
    static const int32_t bias[120];
    const w16a8_made_layer_t layer = {.op = op,
                                      .reads = {(uint8_t)made->header.layers, 0},
                                      .kernel_h = kernel,
                                      .kernel_w = kernel,
                                      .stride = stride,
                                      .padding = padding,
                                      .out_h = side,
                                      .out_w = side,
                                      .out_c = channels,
                                      .scale = made->header.scale,
                                      .zero = made->header.zero,
                                      .act_min = -128,
                                      .act_max = 127,
                                      .weight_scale = 0x1p-15f,
                                      .multiplier = 1 << 30,
                                      .shift = -20,
                                      .largest = W16A8_WIDE,
                                      .weights = weights,
                                      .bias = bias};
    w16a8_append(made, &layer);
}

/* LeNet-5: what training needs beyond its weights, in the file in flash, is 8 bytes more than a forward pass. */
static void test_lenet(void) {
    enum { WEIGHTS = 304 + 4800 + 188160 + 20160 + 1680, BATCH = 8 + 2 * 784, VALUES = 4704 + 1176, LARGE = 1 << 18 };
    w16a8_made_t made;
    w16a8_begin(&made, 28, 28, 1, 10, -128);
    append_layer(&made, OP_CONV2D, 5, 1, 2, 28, 6);
    append_layer(&made, OP_MAX_POOL, 2, 2, 0, 14, 6);
    append_layer(&made, OP_CONV2D, 5, 1, 2, 14, 16);
    append_layer(&made, OP_MAX_POOL, 2, 2, 0, 7, 16);
    append_layer(&made, OP_FULLY_CONNECTED, 0, 0, 0, 1, 120);
    append_layer(&made, OP_FULLY_CONNECTED, 0, 0, 0, 1, 84);
    append_layer(&made, OP_FULLY_CONNECTED, 0, 0, 0, 1, 10);
    w16a8_finish(&made);
    engine_t *engine = take(sizeof *engine);
    uint8_t *arena = take(LARGE);
    uint32_t planned;
    engine_init(engine, registry_formats, arena, LARGE, no_cycles);
    CHECK(engine_use_flash(engine, made.bytes, made.size).code == 0, "LeNet-5");
    CHECK(engine_configure(engine, registry_method(METHOD_QZO_FF), &plain, &planned).code == 0, "settings");
    CHECK(planned == WEIGHTS + BATCH + 8 + VALUES, "LeNet-5: %u", planned);
    free(engine), free(arena), free(made.bytes);
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
    test_passes();
    test_ways();
    test_refusals();
    test_writes();
    test_memory();
    test_lenet();
}
