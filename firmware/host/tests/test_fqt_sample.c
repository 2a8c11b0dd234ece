/* Values, errors and gradients of one sample of the networks of docs/arithmetic-affine8.md, section 11, and the state
   after each step: docs/arithmetic-fqt.md, section 13. */
#include <string.h>

#include "affine8_made.h"
#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "formats/float32.h"
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

/* Network A after both steps: of its layers 0 and 2. */
typedef struct {
    uint32_t scale;
    int8_t zero, weights[9];
    uint32_t biases[3];
    int8_t lo, hi;
    uint32_t low, high, statistics[3][2];
} state_row_t;

static const state_row_t states[2][2] = {
    {{0x3B62DE14,
      -26,
      {-128, -81, -44, -7, 38, 83, 123, -127, -85},
      {0x3BA290BC, 0x3EBCD385},
      -128,
      119,
      0x00000000,
      0x3FA7ABAC,
      {{0xBD291EDC, 0x3DC5E80A}, {0x3E24B1E2, 0x3DFBEE2A}}},
     {0x3B797D9A,
      -1,
      {-112, -73, -35, 6, 39, 79, 115, -107, -73},
      {0x3E83469B, 0x3B0B9C1F, 0x3EBB9BA2},
      -120,
      122,
      0xBD780808,
      0x3F6FAEAF,
      {{0xBE4F9596, 0x3E447E10}, {0xBD8C39B6, 0x3DFD4758}, {0x3E8BA8C2, 0x3DD5BEC6}}}},
    {{0x3B66898C,
      -27,
      {-128, -77, -44, -12, 35, 82, 120, -127, -87},
      {0x3C090E72, 0x3EBB9708},
      -128,
      115,
      0x00000000,
      0x3FA72D6D,
      {{0xBCCAA2A0, 0x3DBB9078}, {0x3DFE7972, 0x3DDE74EA}}},
     {0x3B790B89,
      -2,
      {-112, -73, -35, 9, 38, 80, 114, -106, -75},
      {0x3E861282, 0x3B54048D, 0x3EB844DE},
      -89,
      127,
      0xBD508316,
      0x3F87CA4A,
      {{0xBE3F8B42, 0x3E39572B}, {0xBD56F242, 0x3DF54722}, {0x3E755BCA, 0x3DA73F4E}}}},
};

static void check_state(const model_t *model, uint8_t l, const state_row_t *row) {
    const affine8_tail_t *tail = affine8_tail(model, l);
    CHECK(float32_bits(tail->scale) == row->scale && tail->zero == row->zero, "layer %u: %08X %d", l,
          float32_bits(tail->scale), tail->zero);
    check_s8(model_weights(model, l), row->weights, 9, "weights");
    CHECK(float32_bits(tail->range.low) == row->low && float32_bits(tail->range.high) == row->high,
          "layer %u: range %08X %08X", l, float32_bits(tail->range.low), float32_bits(tail->range.high));
    CHECK(fqt_observed(model, l)[0] == row->lo && fqt_observed(model, l)[1] == row->hi, "layer %u: lo, hi", l);
    for (uint32_t o = 0; o < graph_layer(&model->file, l)->out_c; o++) {
        const fqt_statistics_t *statistics = &fqt_statistics(model, l)[o];
        CHECK(float32_bits(affine8_own_biases(model, l)[o]) == row->biases[o], "layer %u, bias %u", l, o);
        CHECK(float32_bits(statistics->mean) == row->statistics[o][0] &&
                  float32_bits(statistics->square) == row->statistics[o][1],
              "layer %u, channel %u: %08X %08X", l, o, float32_bits(statistics->mean),
              float32_bits(statistics->square));
    }
}

static void test_states_of_a(void) {
    const fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_network(&made, 'A', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, false);
    for (uint32_t step = 0; step < 2; step++) {
        step_result_t result;
        uint32_t digests[4];
        fqt_fill(&trainee, 0, 2);
        CHECK(engine_step(trainee.engine, step, 2, &result, digests).code == 0, "a step");
        check_state(&trainee.engine->model, 0, &states[step][0]);
        check_state(&trainee.engine->model, 2, &states[step][1]);
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

/* The trained tensors of B, input to output, and the ranges of the layers 0, 1, 2, 4..9 and 11. */
static const uint32_t digests_of_b[2][17] = {
    {0x3C701F63, 0xDE80F25D, 0x9EE767B3, 0xBF106CF4, 0x80342FBE, 0x92B4989E, 0x2D7677FB, 0x9D2EA850, 0x9D43EEAA,
     0xC5342DF1, 0x9DEB7D37, 0x8C2F6154, 0x646E15DF, 0x737002B3, 0x0E57EF6C, 0xD19F1927, 0xDF0E4881},
    {0x864A690D, 0xF4BA17D6, 0xE0B2CB65, 0xDE04FB0D, 0xD0395855, 0x1CA673AC, 0x3BA44EDF, 0xFD1FEAD3, 0x17148112,
     0x427BC5E8, 0xE867F7DD, 0xB1D52AEE, 0xF6097D8E, 0x8BA4594C, 0x496C4DD7, 0x10D59C7F, 0xC12EA1AB}};
static const uint32_t ranges_of_b[2][10][2] = {{{0xBFE7D7D8, 0x403FC6C7},
                                                {0xBF4A0000, 0x403BF0F1},
                                                {0x00000000, 0x3FD7F272},
                                                {0x00000000, 0x3EBF5757},
                                                {0x00000000, 0x3EDEA0A1},
                                                {0xBD600000, 0x3EDFE3E4},
                                                {0xBE3CE4E5, 0x3EBFDBDC},
                                                {0xBF760000, 0x40698000},
                                                {0x00000000, 0x400FB7B8},
                                                {0xBEBE4C4C, 0x3EDF0D0D}},
                                               {{0xBFE7AE99, 0x403F7ADE},
                                                {0xBF4373F2, 0x403BB534},
                                                {0x00000000, 0x3FF2F0C0},
                                                {0x00000000, 0x3EBD831E},
                                                {0x00000000, 0x3EDCB7B9},
                                                {0xBD520000, 0x3EDF1BE4},
                                                {0xBE3A1205, 0x3EBFBA15},
                                                {0xBF6EB919, 0x40677CB5},
                                                {0x00000000, 0x400F819D},
                                                {0xBEF1F777, 0x3EDE13FF}}};

static void check_ranges_of_b(const model_t *model, uint32_t step) {
    for (uint8_t l = 0, i = 0; l < model->file.layers; l++) {
        if (!graph_is_pool(graph_layer(&model->file, l))) {
            const affine8_range_t *range = affine8_range(model, l);
            CHECK(float32_bits(range->low) == ranges_of_b[step][i][0] &&
                      float32_bits(range->high) == ranges_of_b[step][i][1],
                  "step %u, layer %u: %08X %08X", step, l, float32_bits(range->low), float32_bits(range->high));
            i++;
        }
    }
}

static void test_states_of_b(bool in_flash) {
    const fqt_settings_t settings = fqt_defaults();
    graph_made_t made;
    affine8_network(&made, 'B', false, 0);
    fqt_trainee_t trainee = fqt_trainee_new(&made, &settings, in_flash);
    CHECK(model_tensors(&trainee.engine->model) == 17, "%u tensors", model_tensors(&trainee.engine->model));
    for (uint32_t step = 0; step < 2; step++) {
        step_result_t result;
        uint32_t digests[17];
        fqt_fill(&trainee, 0, 2);
        CHECK(engine_step(trainee.engine, step, 2, &result, digests).code == 0, "a step");
        for (uint32_t i = 0; i < 17; i++) {
            CHECK(digests[i] == digests_of_b[step][i], "step %u, tensor %u: %08X", step, i, digests[i]);
        }
        check_ranges_of_b(&trainee.engine->model, step);
    }
    fqt_trainee_free(&trainee);
    made_free(&made);
}

void test_fqt_sample(void) {
    for (uint32_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        check_sample(i);
    }
    test_states_of_a();
    test_states_of_b(false);
    test_states_of_b(true);
}
