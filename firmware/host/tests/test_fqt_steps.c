/* The steps of docs/arithmetic-fqt.md, section 13. */
#include <string.h>

#include "affine8_made.h"
#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "methods/fqt.h"

/* A row of the table: the network, what its settings change, and two steps. */
typedef struct {
    char network;
    bool in_float32;
    uint8_t rounding;
    void (*change)(fqt_settings_t *settings);
    struct {
        uint32_t loss, digest[4], step; /* of the first and the last trained layer: weights, biases */
    } steps[2];
} row_t;

static void defaults(fqt_settings_t *settings) {
    (void)settings;
}

static void by_batch(fqt_settings_t *settings) {
    settings->standardise = STANDARDISE_BATCH;
}

static void off_and_mean(fqt_settings_t *settings) {
    settings->standardise = STANDARDISE_OFF;
    settings->gradient = GRADIENT_MEAN;
    settings->eta = 0.05f;
}

static void running(fqt_settings_t *settings) {
    settings->error_range = ERROR_RANGE_RUNNING;
}

static void fixed_ranges(fqt_settings_t *settings) {
    settings->statistics_momentum = 0.6f;
    settings->range_momentum = settings->range_growth = 0.0f;
}

static void last_without_bias(fqt_settings_t *settings) {
    settings->last_layers = 1;
    settings->train_bias = 0;
}

static void sparse_head(fqt_settings_t *settings) {
    settings->lambda_min = 0.1f;
    settings->lambda_max = 0.8f;
    settings->sparse_head = 1;
}

static void sparse(fqt_settings_t *settings) {
    settings->lambda_min = settings->lambda_max = 0.4f;
}

static void sparse_by_difference(fqt_settings_t *settings) {
    settings->lambda_min = 0.3f;
    settings->lambda_max = 0.9f;
    settings->rate = RATE_DIFFERENCE;
}

static void running_last_five(fqt_settings_t *settings) {
    settings->error_range = ERROR_RANGE_RUNNING;
    settings->last_layers = 5;
}

static const row_t rows[] = {
    {'A',
     false,
     0,
     defaults,
     {{0x401F3DD0, {0x35B5AC70, 0x093A7B72, 0xF34552BF, 0x188650E7}, 0xEF958C48},
      {0x4007F576, {0x84C86FF2, 0x208A9B4D, 0xAADE16A0, 0x3168A438}, 0x0610B094}}},
    {'A',
     false,
     2,
     defaults,
     {{0x401F0F8C, {0x923FDA06, 0x54CD7B30, 0xB2C7406E, 0x72AC6756}, 0xA7E83D9C},
      {0x4007EFBC, {0x4EBA480A, 0x56BAF99E, 0xD7F6BAB8, 0x7570D580}, 0x33E65BD9}}},
    {'A',
     true,
     0,
     defaults,
     {{0x401F256E, {0xE568F749, 0xD87E11B6, 0x19B63A77, 0x470676DA}, 0x2BC641C6},
      {0x40066A31, {0x7ED35162, 0x6A52E52C, 0x8186C558, 0xB430055F}, 0x495708AF}}},
    {'C',
     false,
     0,
     defaults,
     {{0x401F4328, {0xF35C6A98, 0xE77D1C33, 0x7FF404AC, 0x04E93BA9}, 0x6CF7ED6B},
      {0x4006B426, {0x43710FA7, 0x30F58532, 0x0F145C0B, 0x2126FA03}, 0x5550203E}}},
    {'A',
     false,
     0,
     by_batch,
     {{0x401F3DD0, {0xF147679F, 0x093A7B72, 0x0AFB9AE6, 0x188650E7}, 0x3EB12C05},
      {0x4014BFCA, {0xB831C2BE, 0x939F493B, 0x2E071FA3, 0xBED4A663}, 0x71EFFB70}}},
    {'A',
     false,
     0,
     off_and_mean,
     {{0x401F3DD0, {0x7478B19C, 0xAF2ACA92, 0x0273A87D, 0x6757484A}, 0xF2EE8B43},
      {0x4008DD79, {0xED68C7A8, 0xB038FA9B, 0x233FDA8E, 0xFCE27039}, 0x7CCFFCF5}}},
    {'A',
     false,
     0,
     running,
     {{0x401F3DD0, {0x1C09062C, 0x523C1271, 0xF34552BF, 0x188650E7}, 0xA4951C91},
      {0x40082CDC, {0x60897C07, 0x71EDBF36, 0x0F5704DD, 0xBFB80755}, 0x8F27974B}}},
    {'A',
     false,
     0,
     fixed_ranges,
     {{0x401F3DD0, {0x705AC376, 0x093A7B72, 0xAE1645B2, 0x188650E7}, 0x1DF13D37},
      {0x4004FA4F, {0x888800A4, 0x250C88ED, 0x0DB70DBC, 0x114288EC}, 0xA6CBD4BC}}},
    {'A',
     false,
     0,
     last_without_bias,
     {{0x401F3DD0, {0xF34552BF, 0xF34552BF, 0xF34552BF, 0xF34552BF}, 0x7374687E},
      {0x400BC78A, {0xA15C0438, 0xA15C0438, 0xA15C0438, 0xA15C0438}, 0x90A33BAA}}},
    {'A',
     false,
     0,
     sparse_head,
     {{0x401F3DD0, {0x5311EE1A, 0x799DF57C, 0x4736A539, 0x489AC65C}, 0xB0827620},
      {0x4016890C, {0xD5735F95, 0x0FA6FB4F, 0x3DC0E9B2, 0x79822173}, 0xE3684FDA}}},
    {'B',
     false,
     0,
     defaults,
     {{0x400D77DC, {0x3C701F63, 0xDE80F25D, 0xD19F1927, 0xDF0E4881}, 0x50D3C1D7},
      {0x4008E46D, {0x864A690D, 0xF4BA17D6, 0x10D59C7F, 0xC12EA1AB}, 0x402C2EA1}}},
    {'B',
     false,
     2,
     defaults,
     {{0x400E033A, {0x62410748, 0x0C89341D, 0xC6637009, 0x992DD97F}, 0x2CC6943E},
      {0x4007EB0A, {0x6DA5C4A2, 0xA06F3111, 0xD5A32484, 0xC8C67197}, 0x26E439BC}}},
    {'B',
     true,
     0,
     defaults,
     {{0x400DD0AE, {0xB0B040B0, 0xB9F45745, 0x95D198B9, 0x770290F6}, 0x160C5463},
      {0x40085DCB, {0x93636C8B, 0xBCFF9F7F, 0xF0F8EC90, 0xE9A92050}, 0xD887446B}}},
    {'B',
     false,
     0,
     sparse,
     {{0x400D77DC, {0xC8BCDE2F, 0xA6804CBE, 0xD19F1927, 0xDF0E4881}, 0x90103E3B},
      {0x40093842, {0x40CDAAD6, 0x662BBDA0, 0x939C1080, 0x201A1EAF}, 0x24D67B5D}}},
    {'B',
     false,
     0,
     sparse_by_difference,
     {{0x400D77DC, {0xA2CB6065, 0x19030E32, 0xD19F1927, 0xDF0E4881}, 0xB2C16585},
      {0x40097270, {0x575869AE, 0x0C174C3D, 0xFD9E4E6D, 0xBCD316E0}, 0xB39B9927}}},
    {'B',
     true,
     0,
     sparse,
     {{0x400DD0AE, {0xE3C0772A, 0x446C8C28, 0x95D198B9, 0x770290F6}, 0x1230C23D},
      {0x4009696B, {0xB3AE3BB3, 0xE724615C, 0x11588769, 0x6C830896}, 0x9C9929FD}}},
    {'B',
     false,
     0,
     running_last_five,
     {{0x400D77DC, {0xDA03AEA1, 0x025EAE98, 0xD19F1927, 0xDF0E4881}, 0x45B4AE62},
      {0x4008FDB3, {0xEA533977, 0x16B41F22, 0xAB335B39, 0x86ABF133}, 0xE66AA51E}}},
};

enum { MOST_TENSORS = 24 };

/* Both samples at once; or one after the other, in the one slot that there is. */
static step_result_t step_of(const fqt_trainee_t *trainee, uint32_t step, bool in_parts, uint32_t *digests) {
    step_result_t result;
    for (uint16_t sample = 0; in_parts && sample < 2; sample++) {
        fqt_fill(trainee, sample, 1);
        const failure_t failure = engine_part(trainee->engine, step, 0, sample, 1);
        CHECK(failure.code == 0, "a part: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    }
    if (!in_parts) {
        fqt_fill(trainee, 0, 2);
    }
    const failure_t failure = engine_step(trainee->engine, step, 2, &result, digests);
    CHECK(failure.code == 0, "a step: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return result;
}

static void check_row(uint32_t index, bool in_parts, bool in_flash) {
    const row_t *row = &rows[index];
    graph_made_t made;
    uint32_t digests[MOST_TENSORS];
    fqt_settings_t settings = fqt_defaults();
    row->change(&settings);
    settings.slots = in_parts ? 1 : 2;
    affine8_network(&made, row->network, row->in_float32, row->rounding);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, in_flash);
    const uint8_t tensors = model_tensors(&trainee.engine->model);
    for (uint32_t step = 0; step < 2; step++) {
        const step_result_t result = step_of(&trainee, step, in_parts, digests);
        const float loss = result.loss_plus, none = result.loss_minus;
        const uint32_t ends[] = {digests[0], digests[tensors > 1], digests[tensors > 1 ? tensors - 2 : 0],
                                 digests[tensors - 1]};
        CHECK(float32_bits(loss) == row->steps[step].loss && float32_bits(none) == 0 && result.sign == 0,
              "row %u, step %u: loss %08X", index, step, float32_bits(loss));
        for (uint32_t i = 0; i < 4; i++) {
            CHECK(ends[i] == row->steps[step].digest[i], "row %u, step %u, digest %u: %08X, not %08X", index, step, i,
                  ends[i], row->steps[step].digest[i]);
        }
        const uint32_t whole = xxh32(digests, tensors * 4u, 0);
        CHECK(whole == row->steps[step].step, "row %u, step %u: step digest %08X", index, step, whole);
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

void test_fqt_steps(void) {
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(i, false, false);
        check_row(i, true, false);
        check_row(i, false, true);
    }
}
