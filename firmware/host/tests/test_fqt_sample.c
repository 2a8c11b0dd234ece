/* Values, errors and gradients of one sample of the networks of docs/arithmetic-affine8.md, section 11. */
#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "formats/float32.h"
#include "fqt_trainee.h"
#include "methods/fqt.h"

enum { MOST_STAGES = 32 };

/* What a trace shows: digests of the values of each stage, and scale and zero point where it has them. */
typedef struct {
    uint32_t digest[MOST_STAGES], scale[MOST_STAGES];
    int32_t zero[MOST_STAGES];
    uint32_t stages;
} seen_t;

static void see(void *context, const int8_t *values, uint32_t bytes, int32_t exponent) {
    seen_t *seen = context;
    CHECK(exponent == 0 && seen->stages < MOST_STAGES, "a stage");
    seen->digest[seen->stages++] = xxh32(values, bytes, 0);
}

static void see_scaled(void *context, const int8_t *values, uint32_t bytes, float scale, int32_t zero) {
    seen_t *seen = context;
    seen->scale[seen->stages] = float32_bits(scale);
    seen->zero[seen->stages] = zero;
    see(context, values, bytes, 0);
}

static seen_t traced(const fqt_trainee_t *trainee) {
    model_t *model = &trainee->engine->model;
    seen_t seen = {.stages = 0};
    const observer_t observer = {.see = see, .see_scaled = see_scaled, .context = &seen};
    model->observer = &observer;
    model->method->trace(model, 0, 1);
    model->observer = NULL;
    return seen;
}

/* Layers with weights, in their order: G of the weights, and of the biases, where the text has it. */
typedef struct {
    uint32_t weights, biases;
} gradient_t;

typedef struct {
    char network;
    bool in_float32;
    uint8_t rounding, values, errors, weighted;
    uint32_t value[13]; /* 0 is the input */
    struct {
        uint32_t digest, scale;
        int32_t zero;
    } error[12];
    uint32_t loss;
    gradient_t gradient[7];
} sample_row_t;

static const sample_row_t samples[] = {
    {.network = 'A',
     .values = 4,
     .errors = 3,
     .weighted = 2,
     .value = {0x2DA2DF28, 0x7A5C3A9E, 0x2F8ADA15, 0x9B63A73E},
     .loss = 0x3FD49D98,
     .error = {{0xEFC120C0, 0x3BA38A96, 34}, {0x3A77E742, 0x3B5089E8, 31}, {0xCCADB1F3, 0x3B5089E8, 31}},
     .gradient = {{0xBA4B1CEA, 0xCEA9EE7D}, {0xF2233905, 0xEA69A7F0}}},
    {.network = 'A',
     .rounding = 2,
     .values = 4,
     .errors = 3,
     .weighted = 2,
     .value = {0x2DA2DF28, 0xFBA70127, 0x61B343B3, 0xFE996B73},
     .loss = 0x3FD3B036,
     .error = {{0xE4A25A6D, 0x3BA38FCF, 34}, {0xBCFA0910, 0x3B4FAAEE, 31}, {0x542A7760, 0x3B4FAAEE, 31}},
     .gradient = {{0x2924334A, 0x8B32C36E}, {0x31B3E967, 0x098BD8DA}}},
    {.network = 'C',
     .values = 5,
     .errors = 4,
     .weighted = 2,
     .value = {0x2DA2DF28, 0x7A5C3A9E, 0x2F8ADA15, 0x9FA7ED24, 0x74A0EBD9},
     .loss = 0x3FD4A0AE,
     .error = {{0x45C1D460, 0, 0}, {0x9E9D70CF, 0, 0}, {0xFF142E90, 0x3B50319D, 32}, {0x5EB43324, 0x3B50319D, 32}},
     .gradient = {{0x03C5C94B, 0x69576271}, {0xB2BEE2D2, 0x45C1D460}}},
    {.network = 'B',
     .values = 13,
     .errors = 12,
     .weighted = 7,
     .value = {0x5C8FD90C, 0xB5F0CE7A, 0xD6A3988F, 0x7D2D3258, 0xA5C81F63, 0xDB32A0A8, 0x1075E2F8, 0x418B61CD,
               0xFAF7996B, 0x0EBADE1A, 0x7EE9746B, 0xCB6B7EC2, 0xD062903E},
     .loss = 0x3FA3D740,
     .error = {{0x38827150, 0x3B9B5F04, 24},
               {0x0D6D823E, 0x3AFAAE4A, 33},
               {0x4280BEB1, 0x39FAAE4A, 33},
               {0xC7EED97C, 0x39DF7B6D, -14},
               {0xC7EED97C, 0x39DF7B6D, -14},
               {0x7920CE9A, 0x398B988E, 10},
               {0x27265CC0, 0x3885E1D5, -128},
               {0x3FE27D2D, 0x37994943, -85},
               {0x13D49EC0, 0x375A0A46, 16},
               {0x92E8F4C3, 0x38C379AD, 3},
               {0xF9CC5571, 0x39E88107, -12},
               {0x178C9308, 0x39B8A32A, -37}},
     .gradient = {{0x40095751, 0xF99E4FA5},
                  {0x6533D03A, 0x04D40123},
                  {0x25133718, 0x08C55449},
                  {0x70CA6895, 0x144F4819},
                  {0xE72C7FA1, 0xC523404D},
                  {0x11925679, 0x3ECD50B1},
                  {0xAB4B2C5C, 0x9DEA7722}}},
    {.network = 'B',
     .in_float32 = true,
     .values = 13,
     .errors = 12,
     .weighted = 7,
     .value = {0x2F9D2308, 0x94C723A9, 0x1BE77367, 0xA4A64E1A, 0x03734C5B, 0xE475A210, 0x8EB09B08, 0xAA40D693,
               0xA1F6A97B, 0x71F72D40, 0x7170D22D, 0xF7B95FEE, 0x092F2F87},
     .loss = 0x3FA4542C,
     .error = {{0x0205819F, 0, 0},
               {0xF1F36B27, 0, 0},
               {0x3CE3A334, 0, 0},
               {0x8D797ABF, 0, 0},
               {0x8D797ABF, 0, 0},
               {0x8614D942, 0, 0},
               {0x32E36AE7, 0, 0},
               {0xAD54AE4F, 0, 0},
               {0x5E992850, 0, 0},
               {0x05CFC71F, 0, 0},
               {0x298B4B98, 0, 0},
               {0xE351B51B, 0, 0}},
     .gradient = {{0x0DE9EBE9, 0},
                  {0xE33A10A6, 0},
                  {0xDC5ADCF4, 0},
                  {0x554B9ADE, 0},
                  {0x5E22512D, 0},
                  {0x59CD98CE, 0},
                  {0xBFA2F21A, 0}}},
};

/* Of the sample that is in slot 0. */
static void check_trace(const fqt_trainee_t *trainee, const sample_row_t *row, uint32_t index) {
    const model_t *model = &trainee->engine->model;
    const seen_t seen = traced(trainee);
    const uint32_t values = row->values - 1u;
    CHECK(seen.stages == values + row->errors, "row %u: %u stages", index, seen.stages);
    for (uint32_t i = 0; i < values; i++) {
        CHECK(seen.digest[i] == row->value[i + 1] && seen.scale[i] == 0, "row %u, value %u: %08X", index, i + 1,
              seen.digest[i]);
    }
    for (uint32_t i = 0; i < row->errors; i++) {
        const uint32_t at = values + i;
        CHECK(seen.digest[at] == row->error[i].digest && seen.scale[at] == row->error[i].scale &&
                  seen.zero[at] == row->error[i].zero,
              "row %u, error %u: %08X (%08X, %d)", index, i, seen.digest[at], seen.scale[at], seen.zero[at]);
    }
    if (!row->in_float32) {
        CHECK(xxh32(model_sample(model, 0), (uint32_t)graph_elements(&model->file, 0), 0) == row->value[0], "value 0");
    }
}

static void check_gradients(const model_t *model, const sample_row_t *row, uint32_t index) {
    for (uint8_t i = 0; i < row->weighted; i++) {
        const uint8_t l = graph_weighted_layer(&model->file, i);
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const uint32_t weights = graph_weight_count(layer);
        const float *gradient = fqt_gradient(model, l);
        const uint32_t g = xxh32(gradient, 4 * weights, 0), bias = xxh32(gradient + weights, 4u * layer->out_c, 0);
        CHECK(g == row->gradient[i].weights, "row %u, layer %u: G %08X", index, l, g);
        CHECK(row->gradient[i].biases == 0 || bias == row->gradient[i].biases, "row %u, layer %u: biases %08X", index,
              l, bias);
    }
}

static void check_sample(uint32_t index) {
    const sample_row_t *row = &samples[index];
    const fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_network(&made, row->network, row->in_float32, row->rounding);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    model_t *model = &trainee.engine->model;
    fqt_fill(&trainee, 0, 1);
    if (row->in_float32) {
        const pass_t pass = {.sample = model_sample(model, 0), .count = 1};
        model_format(model, 0)->open(model, &pass);
        CHECK(xxh32(float32_buffer(model, PLAN_VALUE, 0), 4 * 32, 0) == row->value[0], "value 0");
    }
    check_trace(&trainee, row, index);
    CHECK(model->kept[FQT_LARGEST_LOSS] == 0.0f, "a trace leaves the largest loss");
    CHECK(engine_part(trainee.engine, 0, 0, 0, 1).code == 0, "a part");
    CHECK(float32_bits(trainee.engine->under_way.loss[0]) == row->loss, "row %u: loss %08X", index,
          float32_bits(trainee.engine->under_way.loss[0]));
    check_gradients(model, row, index);
    fqt_trainee_free(&trainee);
    made_free(&made);
}

void test_fqt_sample(void) {
    for (uint32_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        check_sample(i);
    }
}
