/* Fisher information: the vectors of docs/arithmetic-tinytrain.md, section 9, for numbers, values and ranking. */
#include <math.h>
#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "kernels/gradients.h"
#include "tinytrain_made.h"

/* v * v of a sum that `n` positions give, 255 * 127 each but the last one. */
static void test_squares(void) {
    static const struct {
        uint32_t u;
        int32_t exponent;
        uint32_t square;
    } cases[] = {{3, -75, 0x05100000u}, {30000, -17, 0x3D5693A4u}, {16777217, -9, 0x4E800000u}, {5, 4, 0x41C80000u}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum { EACH = 255 * 127, MOST = 700 };
        int8_t out[MOST][2], error[MOST][2];
        uint32_t n = 0, left = cases[i].u;
        float fisher[2] = {0.0f, 1.0f};
        memset(error, 0, sizeof error);
        memset(out, 0, sizeof out);
        for (; left >= EACH; left -= EACH, n++) {
            out[n][0] = 127;
            error[n][0] = -127; /* its sign does not count */
        }
        for (; left > 0; n++) {
            const uint32_t steps = left < 127 ? left : 127, factor = steps < 127 ? 1 : left / 127;
            out[n][0] = (int8_t)((int32_t)factor - 128);
            error[n][0] = (int8_t)-(int32_t)steps;
            left -= steps * factor;
        }
        CHECK(n <= MOST, "%u positions", n);
        add_fisher_s8(out[0], error[0], n, 2, -128, cases[i].exponent, fisher);
        CHECK(float32_bits(fisher[0]) == cases[i].square, "case %zu: %08X", i, float32_bits(fisher[0]));
        CHECK(fisher[1] == 1.0f, "a channel without errors");
    }
}

/* More positions than an int32 sum takes. */
static void test_many_positions(void) {
    enum { N = 70000 };
    int8_t *out = take(N), *error = take(N);
    memset(out, 127, N);
    memset(error, 127, N);
    float fisher = 0.0f;
    add_fisher_s8(out, error, N, 1, -128, -31, &fisher);
    const float v = (float)(255.0 * 127 * N) * 0x1p-31f;
    CHECK(fisher == v * v, "%a, not %a", (double)fisher, (double)(v * v));
    free(out);
    free(error);
}

/* Digests of the values of each sample, and the logits. */
typedef struct {
    uint32_t values[8];
    int8_t logits[3];
} passed_t;

static void check_values(char network, bool flash, const passed_t expected[TINYTRAIN_SAMPLES]) {
    graph_made_t made;
    tinytrain_made(&made, network);
    const tflite8_settings_t settings = tinytrain_settings();
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, flash);
    model_t *model = &trainee.engine->model;
    for (uint16_t b = 0; b < TINYTRAIN_SAMPLES; b++) {
        tinytrain_fill(&trainee, b, b);
        const pass_t pass = {.sample = model_sample(model, b), .count = 1};
        for (uint8_t value = 0; value <= model->file.layers; value++) {
            if (value > 0) {
                pass_run(model, &pass, (uint8_t)(value - 1), value);
            }
            const uint32_t digest =
                xxh32(pass_value(model, &pass, value), (uint32_t)graph_elements(&model->file, value), 0);
            CHECK(digest == expected[b].values[value], "%c: value %u of sample %u: %08X", network, value, b, digest);
        }
        check_s8(model_logits(model, 0), expected[b].logits, 3, "logits");
    }
    graph_trainee_free(&trainee);
    made_free(&made);
}

static void test_values(void) {
    static const passed_t a[] = {{{0xE3EBB851u, 0xD5E626CCu, 0x09954CCEu, 0x77593BDCu}, {29, 8, -77}},
                                 {{0x708085ACu, 0x8809C23Fu, 0x50462A11u, 0x10E78585u}, {18, -9, -72}},
                                 {{0x62006222u, 0x6FEBDC49u, 0xC02C865Du, 0x8FEAACB9u}, {2, -76, -2}}};
    static const passed_t b[] = {
        {{0x78AC5F9Cu, 0x0C0A8BF3u, 0x4269D2A1u, 0x5C5E38B1u, 0x51B99AB0u, 0x18A190DCu, 0x2F91536Fu, 0xA6466F48u},
         {24, -12, -66}},
        {{0x8C10B698u, 0xB8C86E72u, 0xA51C8054u, 0x96BBB1B7u, 0x0AE62C95u, 0x57A7425Fu, 0xC4F85FD7u, 0xFA7C530Bu},
         {-53, 82, -22}},
        {{0xF6C3391Fu, 0xF89E798Cu, 0x7027D94Au, 0xB1D2756Bu, 0x05D6A890u, 0xB8F48A13u, 0x7584BE91u, 0x8F2E21F0u},
         {-35, 31, -11}}};
    check_values('A', false, a);
    check_values('B', true, b);
}

/* Of a layer: C_y and j_y; x and u of each sample; D, P and s after all of them. */
typedef struct {
    uint8_t l;
    uint32_t factor;
    int32_t j, x[TINYTRAIN_SAMPLES], u[TINYTRAIN_SAMPLES][6];
    uint32_t fisher[6], p, score;
} ranked_t;

static const ranked_t ranked_a[] = {
    {2,
     0x3F810204u,
     -12,
     {0, 0, 0},
     {{-1305, 336, -231}, {1530, -333, 8784}, {128, 9196, -114}},
     {0x3E77D254u, 0x40A1B977u, 0x40934B86u},
     0x4120E2D0u,
     0x42F15438u},
    {0,
     0x3FC18306u,
     -21,
     {6, 8, 7},
     {{1749, -4790, -11392, 7197}, {1656, -4284, 5309, 10603}, {-267, 16161, 23157, -13280}},
     {0x3D3422C7u, 0x3FA24787u, 0x4022775Eu, 0x40185997u},
     0x4163DAD2u,
     0x421E1302u},
};
static const ranked_t ranked_b[] = {
    {6,
     0x3F810204u,
     -11,
     {0, 0, 0},
     {{-288, -144, 0}, {0, 10414, 2794}, {-70, -310, -88}},
     {0x3CAB9200u, 0x41CF13D4u, 0x3FEE7848u},
     0x41E1A95Au,
     0x465FA58Cu},
    {4,
     0x3FC18306u,
     -20,
     {4, 6, 2},
     {{-1898, -4532, -2227, -3372, -224, 5166},
      {270, 24258, 32565, 7844, 5125, 12847},
      {-2432, -14740, -7182, -3936, -2106, -21297}},
     {0x3A9CD048u, 0x400CCE53u, 0x407CF5BBu, 0x3E6DA75Bu, 0x3DC88C03u, 0x3F20AE0Fu},
     0x418207A7u,
     0x418207A7u},
    {2,
     0x3F912244u,
     -27,
     {12, 13, 11},
     {{-1157, 6102, 903, -2733}, {17139, 19197, 16440, 18509}, {-4410, 1979, -4365, -2623}},
     {0x3F8CCED0u, 0x3FB4481Fu, 0x3F818AA1u, 0x3FA473A9u},
     0x40C5B164u,
     0x43677093u},
    {1,
     0x3FD9B366u,
     -34,
     {19, 20, 18},
     {{-6267, 483, 7824, 924}, {12691, -2803, 7174, 3221}, {-1739, -727, -2679, -982}},
     {0x3F2324F8u, 0x3CF28F08u, 0x3E803593u, 0x3D227BEBu},
     0x40312A45u,
     0x41B85CC9u},
    {0,
     0x3F912244u,
     -27,
     {14, 15, 11},
     {{-2179, 138, 1636, -161}, {5902, 306, 37, 2944}, {-715, -621, -4765, -7328}},
     {0x40096A55u, 0x3BC31FB4u, 0x3D395914u, 0x3F078CB4u},
     0x4060722Au,
     0x43DAF761u},
};

static const float *fisher_of(const model_t *model, uint8_t l) {
    return (const float *)(const void *)model_buffer(model, TINYTRAIN_FISHER, l);
}

/* D after samples 0..b, from x and u. */
static void check_sums(const model_t *model, const ranked_t *row, uint32_t b) {
    const uint32_t channels = graph_channels(graph_layer(&model->file, row->l));
    for (uint32_t o = 0; o < channels; o++) {
        float sum = 0.0f;
        for (uint32_t i = 0; i <= b; i++) {
            const float v = ldexpf((float)row->u[i][o], row->j + row->x[i]);
            sum = sum + v * v;
        }
        CHECK(fisher_of(model, row->l)[o] == sum, "layer %u, channel %u, sample %u: %a, not %a", row->l, o, b,
              (double)fisher_of(model, row->l)[o], (double)sum);
    }
}

static void check_ranked(const model_t *model, const ranked_t *row) {
    const uint32_t channels = graph_channels(graph_layer(&model->file, row->l));
    float scores[GRAPH_MAX_LAYERS], sum = 0.0f;
    tinytrain_score(model, scores);
    for (uint32_t o = 0; o < channels; o++) {
        const float fisher = fisher_of(model, row->l)[o];
        CHECK(float32_bits(fisher) == row->fisher[o], "layer %u: D %u is %08X", row->l, o, float32_bits(fisher));
        sum = sum + fisher;
    }
    const float c = model->gradient_factor[row->l], square = c * c;
    CHECK(float32_bits(c) == row->factor, "layer %u: C %08X", row->l, float32_bits(c));
    CHECK(float32_bits(square * sum) == row->p, "layer %u: P", row->l);
    CHECK(float32_bits(scores[row->l]) == row->score, "layer %u: s %08X", row->l, float32_bits(scores[row->l]));
}

static void rank_all(char network, const ranked_t *rows, size_t n, bool flash) {
    graph_made_t made;
    tinytrain_made(&made, network);
    tflite8_settings_t settings = tinytrain_settings();
    settings.ranking = 2;
    settings.slots = 1;
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, flash);
    const model_t *model = &trainee.engine->model;
    for (uint16_t b = 0; b < TINYTRAIN_SAMPLES; b++) {
        tinytrain_fill(&trainee, 0, b);
        CHECK(engine_part(trainee.engine, 0, 0, b, 1).code == 0, "a part");
        for (size_t i = 0; i < n; i++) {
            check_sums(model, &rows[i], b);
        }
    }
    for (size_t i = 0; i < n; i++) {
        check_ranked(model, &rows[i]);
    }
    graph_trainee_free(&trainee);
    made_free(&made);
}

static void test_ranking(void) {
    for (int flash = 0; flash < 2; flash++) {
        rank_all('A', ranked_a, sizeof ranked_a / sizeof ranked_a[0], flash == 1);
        rank_all('B', ranked_b, sizeof ranked_b / sizeof ranked_b[0], flash == 1);
    }
}

void test_tinytrain(void) {
    test_squares();
    test_many_positions();
    test_values();
    test_ranking();
}
