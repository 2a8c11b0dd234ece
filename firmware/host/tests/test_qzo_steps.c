/* Whole steps of QZO-FF: those of docs/arithmetic-qzo-ff.md, section 12; in parts; each way of moving weights. */
#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "qzo_bench.h"

static void check_steps(const qzo_ff_settings_t *chosen, uint16_t slots, bool flash, const float losses[2][2],
                        const uint32_t digests[2][3]) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    qzo_ff_settings_t settings = *chosen;
    settings.slots = slots;
    qzo_bench_t bench = qzo_bench_of(&made, flash);
    qzo_configure(&bench, &settings);
    for (uint32_t step = 0; step < 2; step++) {
        uint32_t found[2];
        const step_result_t result = qzo_train(&bench, step, slots, found);
        CHECK(result.loss_plus == losses[step][0] && result.loss_minus == losses[step][1], "losses of step %u: %a %a",
              step, (double)result.loss_plus, (double)result.loss_minus);
        CHECK(found[0] == digests[step][0] && found[1] == digests[step][1], "digests of step %u: %08X %08X", step,
              found[0], found[1]);
        CHECK(xxh32(found, sizeof found, 0) == digests[step][2], "the digest of step %u", step);
    }
    qzo_bench_free(&bench);
}

static void test_two_steps(void) {
    static const float losses4[2][2] = {{0x1.815c4ep-1f, 0x1.8e5fdep-1f}, {0x1.74e608p-1f, 0x1.9fdcb8p-1f}},
                       losses5[2][2] = {{0x1.8f5884p+0f, 0x1.837716p+0f}, {0x1.7825d4p+0f, 0x1.8c949cp+0f}};
    static const uint32_t digests4[2][3] = {{0x3B47C5B3u, 0x40326E2Du, 0x7B7B0C42u},
                                            {0xD8D6C3D2u, 0x6B60E976u, 0x41DC8E1Cu}},
                          digests5[2][3] = {{0xBC076E6Cu, 0x688A2178u, 0x08921C6Bu},
                                            {0x67833B81u, 0x726FC5C4u, 0x9AF8B76Au}};
    qzo_ff_settings_t settings = qzo_plain;
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
    qzo_bench_t bench = qzo_bench_of(&made, true);
    qzo_ff_settings_t settings = qzo_plain;
    settings.epsilon = settings.eta = 0.01f;
    settings.directions = 2;
    settings.rho = 0.02f;
    settings.guide = 128;
    qzo_configure(&bench, &settings);
    for (uint8_t pass = 0; pass < 6; pass++) {
        qzo_fill(&bench, 0, 1);
        if (pass < 4) {
            const failure_t ahead = engine_part(bench.engine, 0, (uint8_t)(pass + 2), 0, 1);
            CHECK(ahead.code == FAILURE_OUT_OF_ORDER, "a pass is left out: code %u", ahead.code);
        }
        CHECK(engine_part(bench.engine, 0, pass, 0, 1).code == 0, "the first sample of pass %u", pass);
        qzo_fill(&bench, 1, 1);
        if (pass > 0 && pass < 5) {
            const failure_t early = engine_part(bench.engine, 0, (uint8_t)(pass + 1), 0, 1);
            CHECK(early.code == FAILURE_PARTS_MISSING && early.a == 1 && early.b == 2, "a pass of one sample");
        }
        CHECK(engine_part(bench.engine, 0, pass, 1, 1).code == 0, "the second sample of pass %u", pass);
        const float *pair = bench.engine->under_way.pair;
        CHECK(pair[pass % 2] == pairs[pass / 2][pass % 2], "the losses of pass %u: %a", pass, (double)pair[pass % 2]);
    }
    qzo_fill(&bench, 0, 1);
    CHECK(engine_part(bench.engine, 0, 6, 0, 1).code == FAILURE_BAD_SLOT, "a pass too many");
    qzo_bench_free(&bench);
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
    qzo_bench_t bench = qzo_bench_of(&copy, flash);
    qzo_configure(&bench, settings);
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
    qzo_bench_free(&bench);
    return sum;
}

/* What moves weights four at a time, and what moves them one by one, gives the same: a mask of all weights, or a
   momentum that never guides, takes the second way. */
static void test_ways(void) {
    for (uint32_t round = 0; round < 24; round++) {
        w16a8_made_t made;
        make_drawn(&made);
        qzo_ff_settings_t settings = qzo_plain;
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

/* Weights beyond w_max are not written, whatever the pieces; and what was written is held again. */
static void test_writes(void) {
    static const uint8_t low[2] = {0x00, 0x80}, high[2] = {0xFF, 0x7F}, part = 0x80;
    w16a8_made_t made;
    w16a8_made_network(&made);
    qzo_bench_t bench = qzo_bench_of(&made, true);
    qzo_configure(&bench, &qzo_plain);
    CHECK(engine_write_tensor(bench.engine, 0, 2, 2, low).code == FAILURE_BAD_TENSOR, "a weight of -32768");
    CHECK(engine_write_tensor(bench.engine, 0, 2, 2, high).code == 0, "a weight of 32767");
    CHECK(engine_write_tensor(bench.engine, 0, 0, 1, &part).code == 0, "a low byte");
    CHECK(qzo_weights(&bench, 0)[0] == (9000 & ~0xFF) + 0x80 && qzo_weights(&bench, 0)[1] == 32767, "what was written");
    uint32_t digests[2];
    (void)qzo_train(&bench, 0, 2, digests);
    CHECK(qzo_weights(&bench, 0)[1] <= qzo_tensor(&bench.engine->model, 0).limit, "held at rest");
    qzo_bench_free(&bench);
}

void test_qzo_steps(void) {
    test_two_steps();
    test_passes();
    test_ways();
    test_writes();
}
