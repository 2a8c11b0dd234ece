/* The vectors of docs/arithmetic-qzo-ff.md, section 12, of numbers: AdamW, roots, roundings, rates. */
#include "arith/float32.h"
#include "arith/round_away.h"
#include "check.h"
#include "qzo_bench.h"

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
        const float y = adamw_step(&adamw, (float)rows[i].g * 0x1p-5f, &moments.first, &moments.second) / 0x1p-15f;
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
    qzo_ff_settings_t settings = qzo_plain;
    settings.eta_min = 0.00001f;
    settings.warmup = 20;
    settings.steps = 100;
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(qzo_rate(&settings, rows[i].t) == rows[i].rate, "rate of step %u: %a", rows[i].t,
              (double)qzo_rate(&settings, rows[i].t));
    }
}

void test_qzo_numbers(void) {
    test_adamw();
    test_numbers();
    test_schedule();
}
