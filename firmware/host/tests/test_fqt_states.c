/* What steps of FQT leave: docs/arithmetic-fqt.md, section 13. */
#include "arith/float32.h"
#include "check.h"
#include "fqt_trainee.h"
#include "methods/fqt.h"

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

void test_fqt_states(void) {
    test_states_of_a();
    test_states_of_b(false);
    test_states_of_b(true);
}
