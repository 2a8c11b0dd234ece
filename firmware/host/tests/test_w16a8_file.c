/* A network file in w16a8: docs/arithmetic-w16a8.md, sections 3, 4 and the network of section 7. */
#include <string.h>

#include "check.h"
#include "trainer/registry.h"
#include "w16a8_made.h"

/* The network of section 7. */
static void test_network(void) {
    static const uint8_t pixels[2][4] = {{200, 17, 90, 255}, {3, 240, 128, 60}};
    static const int8_t logits[2][2] = {{38, -24}, {7, 12}};
    static uint8_t arena[8192] __attribute__((aligned(8)));
    w16a8_made_t made;
    w16a8_made_network(&made);
    graph_file_t file;
    const failure_t failure = graph_file_open(&file, made.bytes, made.size);
    CHECK(failure.code == 0, "the network: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    model_t model = {.arena = arena, .file = file, .formats = registry_formats, .training = {.starts = 1}};
    plan_clear(&model.plan);
    model.plan.at[plan_place(PLAN_VALUE, 1)] = 0;
    model.plan.at[plan_place(PLAN_VALUE, 2)] = 64;
    model.plan.at[plan_place(PLAN_WORK, 0)] = model.plan.at[plan_place(PLAN_WORK, 1)] = 128;
    float sum = 0.0f;
    for (uint32_t i = 0; i < 2; i++) {
        int8_t sample[4];
        w16a8.load(sample, pixels[i], 4);
        const pass_t pass = {.sample = sample, .count = 1};
        w16a8.run(&model, &pass, 0);
        w16a8.run(&model, &pass, 1);
        check_s8(model_logits(&model, 0), logits[i], 2, "logits");
        sum = sum + w16a8.loss(&model, model_logits(&model, 0), i);
    }
    CHECK(sum == 0x1.815c4ep-1f, "the losses: %a", (double)sum);
    free(made.bytes);
}

static void expect(w16a8_made_t *made, uint32_t layer, uint32_t check, const char *what) {
    graph_file_t file;
    w16a8_seal(made);
    const failure_t failure = graph_file_open(&file, made->bytes, made->size);
    CHECK(check == 0 ? failure.code == 0
                     : failure.code == FAILURE_NETWORK_LAYER && failure.a == layer && failure.b == check,
          "%s: code %u, a %u, b %u", what, failure.code, failure.a, failure.b);
}

/* Change a byte of the file, expect a check, and change it back. */
static void refuse(w16a8_made_t *made, void *at, int32_t by, uint32_t size, uint32_t check, const char *what) {
    uint8_t before[4];
    memcpy(before, at, size);
    memcpy(at, &by, size);
    expect(made, 1, check, what);
    memcpy(at, before, size);
}

static void test_checks(void) {
    w16a8_made_t made;
    w16a8_made_network(&made);
    w16a8_parameters_t *own = w16a8_made_parameters(&made, 1);
    int16_t *weights = (int16_t *)(void *)(made.bytes + made.record[1].weights_offset);
    float nothing = 0.0f;
    int32_t zero;
    memcpy(&zero, &nothing, sizeof zero);
    expect(&made, 0, 0, "as it is");
    refuse(&made, &own->none, 1, 1, 7, "a field that is not zero");
    refuse(&made, &((graph_layer_t *)(void *)(made.bytes + 32))[1].rounding, 0, 1, 7, "rounding `double`");
    refuse(&made, &((graph_layer_t *)(void *)(made.bytes + 32))[1].rounding, 2, 1, 7, "no rounding");
    refuse(&made, &own->scale, zero, 4, 9, "no scale of weights");
    refuse(&made, &own->multiplier, (1 << 30) - 1, 4, 11, "a small multiplier");
    refuse(&made, &own->shift, -1, 1, 11, "a factor of 1/4 or more");
    refuse(&made, &own->shift, -32, 1, 11, "a shift below -31");
    refuse(&made, &own->shift, -31, 1, 0, "few products, any shift");
    refuse(&made, &own->bias[1], (1 << 30) + 1, 4, 11, "a large bias");
    refuse(&made, &own->bias[1], -(1 << 30), 4, 0, "a bias of -2^30");
    refuse(&made, &own->largest, 32766, 2, 12, "another w_max");
    refuse(&made, &own->largest, 127, 2, 12, "weights beyond w_max");
    refuse(&made, &weights[3], -32768, 2, 12, "a weight of -32768");
    refuse(&made, &own->output.act_max, -128 - 0, 1, 0, "one output");
    own->output.act_min = 5;
    refuse(&made, &own->output.act_max, 4, 1, 13, "no outputs");
    free(made.bytes);
}

/* fully_connected of one layer with so many inputs. */
static void expect_sums(uint16_t inputs, int8_t zero, int8_t shift, uint16_t largest, uint32_t check) {
    int16_t *weights = take(4u * inputs);
    const int32_t bias[2] = {0};
    memset(weights, 0, 4u * inputs);
    w16a8_made_t made;
    w16a8_begin(&made, 1, 1, inputs, 2, zero);
    const w16a8_made_layer_t layer = {.op = OP_FULLY_CONNECTED,
                                      .out_h = 1,
                                      .out_w = 1,
                                      .out_c = 2,
                                      .scale = 1.0f,
                                      .act_min = -128,
                                      .act_max = 127,
                                      .weight_scale = 1.0f,
                                      .multiplier = 1 << 30,
                                      .shift = shift,
                                      .largest = largest,
                                      .weights = weights,
                                      .bias = bias};
    w16a8_append(&made, &layer);
    w16a8_finish(&made);
    expect(&made, 0, check, "sums");
    free(made.bytes), free(weights);
}

static void test_bounds(void) {
    expect_sums(256, 0, -23, W16A8_WIDE, 0);
    expect_sums(257, 0, -23, W16A8_WIDE, 11);
    expect_sums(257, 0, -22, W16A8_WIDE, 0);
    expect_sums(128, -128, -23, W16A8_WIDE, 0);
    expect_sums(129, 127, -23, W16A8_WIDE, 11);
    expect_sums(600, -128, -22, W16A8_WIDE, 0);
    expect_sums(600, -128, -23, W16A8_WIDE, 11);
    expect_sums(33155, -128, -23, W16A8_NARROW, 11);
    expect_sums(32768, -128, -31, W16A8_NARROW, 0);
    expect_sums(32768, -128, -22, W16A8_WIDE, 0);
    expect_sums(32769, -128, -22, W16A8_WIDE, 11);
}

void test_w16a8_file(void) {
    test_network();
    test_checks();
    test_bounds();
}
