/* The test vectors of docs/arithmetic-float32.md, section 13. */
#include <string.h>

#include "arith/normal.h"
#include "arith/xxh32.h"
#include "check.h"
#include "float32_made.h"
#include "formats/float32.h"
#include "kernels/layers_f32.h"
#include "kernels/updates_f32.h"

enum { MOST_VALUES = 8, MOST_TENSORS = 10 };

static void check_bits(const float *found, const uint32_t *expected, uint32_t n, const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(float32_bits(found[i]) == expected[i], "%s, element %u: %08X, not %08X", what, i, float32_bits(found[i]),
              expected[i]);
    }
}

static void take_bits(float *values, const uint32_t *bits, uint32_t n) {
    memcpy(values, bits, n * sizeof *values);
}

static void test_random_numbers(void) {
    static const uint32_t words[] = {0x2EB9D4EF, 0xD9467FB0, 0x578C91D6, 0xC8903405,
                                     0x099C3847, 0x65325866, 0x41311EBD, 0x309DBD86};
    static const int32_t numbers[] = {-2795655, 400245, 1992588, -576713, -4361752, 1782945, -2389190, 2748837};
    static const uint32_t others[] = {0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0x12345678};
    static const int32_t of_others[] = {13288767, -13288767, 12929125, -1414207, 1414200, 11, 3784463};
    const uint32_t state = tensor_state(1, 0, 0);
    CHECK(state == 0x9264E314, "K is %08X", state);
    CHECK(xxh32(normal_knots, sizeof normal_knots, 0) == 0x30C32DF0, "the table");
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(normal_word(state, i) == words[i], "word %u: %08X", i, normal_word(state, i));
        CHECK(normal_of_word(words[i]) == numbers[i], "number %u: %d", i, normal_of_word(words[i]));
    }
    for (uint32_t i = 0; i < 7; i++) {
        CHECK(normal_of_word(others[i]) == of_others[i], "%08X: %d", others[i], normal_of_word(others[i]));
    }
}

static void test_moving(void) {
    static const uint32_t before[] = {0x3F000000, 0xBE800000, 0x3E000000, 0x3F800000,
                                      0xBF800000, 0x00000000, 0x3D000000, 0x40000000};
    static const uint32_t plus[] = {0x3EFF5146, 0xBE7FCDF8, 0x3E00F913, 0x3F7FEDFA,
                                    0xBF804427, 0x3A5EDE3E, 0x3CF6AACF, 0x4000157A};
    static const uint32_t minus[] = {0x3F00575D, 0xBE801904, 0x3DFE0DDB, 0x3F800903,
                                     0xBF7F77B2, 0xBA5EDE3E, 0x3D04AA98, 0x3FFFD50D};
    static const uint32_t after[] = {0x3F199851, 0xBE875426, 0x3D5C1DF4, 0x3F82A3D6,
                                     0xBF581125, 0xBD829638, 0x3DEEFD50, 0x3FF36AB5};
    static const uint32_t still[] = {0x3F000000, 0xBE800000, 0x3E000000, 0x3F800000,
                                     0xBF800000, 0x00000000, 0x3CFFFFFF, 0x40000000};
    const float eps = float32_from_bits(0x3A83126F), eta = float32_from_bits(0x3D4CCCCD),
                g = float32_from_bits(0x3FC00000);
    const uint32_t state = tensor_state(1, 0, 0);
    float weights[8], copy[8];
    take_bits(weights, before, 8);
    move_f32(weights, 8, state, eps);
    check_bits(weights, plus, 8, "plus");
    move_f32(weights, 8, state, -2.0f * eps);
    check_bits(weights, minus, 8, "minus");
    memcpy(copy, weights, sizeof copy);
    const float change = eta * g;
    move_f32(weights, 8, state, eps - change);
    check_bits(weights, after, 8, "after");
    move_f32(copy, 8, state, eps);
    check_bits(copy, still, 8, "g = 0");
}

static void test_functions(void) {
    static const uint32_t x[] = {0x00000000, 0xB5800000, 0xBF000000, 0xBF800000,
                                 0xC1200000, 0xC2ADFAE1, 0xC2AE0000, 0xC2AE3333};
    static const uint32_t exps[] = {0x3F800000, 0x3F7FFFF0, 0x3F1B4598, 0x3EBC5AB2,
                                    0x383E6BCE, 0x00B503B6, 0x00B33687, 0x00000000};
    static const uint32_t y[] = {0x3F800000, 0x3F800001, 0x3FB504F3, 0x3FB504F4,
                                 0x40000000, 0x40200000, 0x41200000, 0x44800000};
    static const uint32_t logs[] = {0x00000000, 0x34000000, 0x3EB17218, 0x3EB17219,
                                    0x3F317218, 0x3F6A9208, 0x40135D8E, 0x40DDCE9E};
    for (uint32_t i = 0; i < 8; i++) {
        const float e = exp32(float32_from_bits(x[i])), l = log32(float32_from_bits(y[i]));
        check_bits(&e, &exps[i], 1, "exp32");
        check_bits(&l, &logs[i], 1, "log32");
    }
}

static void test_loss(void) {
    static const uint32_t logit_bits[] = {0x3FA00000, 0xBF000000, 0x40400000};
    static const uint32_t losses[] = {0x3FF7C294, 0x3E3E14A1};
    static const uint32_t errors[2][3] = {{0xBF5B0CEE, 0x3CCD77AD, 0x3F54A130}, {0x3E13CC47, 0x3CCD77AD, 0xBE2D7B40}};
    float logits[3], error[3];
    take_bits(logits, logit_bits, 3);
    for (uint32_t i = 0; i < 2; i++) {
        const float loss = softmax_loss_f32(logits, 3, 2 * i);
        softmax_error_f32(logits, 3, 2 * i, error);
        check_bits(&loss, &losses[i], 1, "loss");
        check_bits(error, errors[i], 3, "d");
    }
    CHECK(argmax_f32(logits, 3) == 2, "the predicted class");
}

/* Any kernel may walk through them: a fully connected layer, and a convolution of one position. */
static void test_order(void) {
    static const uint32_t w_bits[] = {0x3F982B9B, 0xBF81DA18, 0x3F2AABC2, 0x3F4B98B9, 0xBF330B1D, 0xBE401784};
    static const uint32_t x_bits[] = {0x3FE27D58, 0x3FDC38D8, 0x3F5B037D, 0x3EA9F4E0, 0x3F91B421, 0xBE100DB5};
    static const uint32_t expected = 0x3ED87CDE;
    const layer_shape_t shape = {.in_h = 1,
                                 .in_w = 1,
                                 .in_c = 6,
                                 .out_h = 1,
                                 .out_w = 1,
                                 .out_c = 1,
                                 .kernel_h = 1,
                                 .kernel_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1};
    const float zero = 0.0f;
    float w[6], x[6], out;
    take_bits(w, w_bits, 6);
    take_bits(x, x_bits, 6);
    fully_connected_f32(x, w, &zero, 6, 1, &no_limits, &out);
    check_bits(&out, &expected, 1, "a sum");
    conv2d_f32(x, w, &zero, &shape, &no_limits, &out);
    check_bits(&out, &expected, 1, "a sum of conv2d");
}

static void test_subnormal_numbers(void) {
    static const uint32_t expected[] = {0x00000300, 0x00800300, 0x00000100};
    const float product = float32_from_bits(0x0D800000) * float32_from_bits(0x2BC00000);
    const float found[] = {product, product + float32_from_bits(0x00800000), product / float32_from_bits(0x40400000)};
    check_bits(found, expected, 3, "subnormal numbers");
}

/* What a trace shows of sample 0 with the weights as given: digests of the stages' bytes, and the first elements. */
typedef struct {
    uint32_t digest[2 * MOST_VALUES], first[2 * MOST_VALUES][4];
    uint32_t stages;
} seen_t;

static void see(void *context, const int8_t *values, uint32_t bytes, int32_t exponent) {
    seen_t *seen = context;
    CHECK(exponent == 0 && seen->stages < 2 * MOST_VALUES, "a stage");
    memcpy(seen->first[seen->stages], values, bytes < 16 ? bytes : 16);
    seen->digest[seen->stages++] = xxh32(values, bytes, 0);
}

static seen_t traced(const float32_trainee_t *trainee) {
    model_t *model = &trainee->engine->model;
    seen_t seen = {.stages = 0};
    const observer_t observer = {.see = see, .context = &seen};
    float32_fill(trainee, 0, 1);
    model->observer = &observer;
    model->method->trace(model, 0, 1);
    model->observer = NULL;
    return seen;
}

static void check_words(const uint32_t *found, const uint32_t *expected, uint32_t n, const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "%s, %u: %08X, not %08X", what, i, found[i], expected[i]);
    }
}

static void check_tensor(const model_t *model, uint8_t l, const uint32_t *first, uint32_t digest,
                         const uint32_t *biases) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const float *gradient = float32_buffer(model, PLAN_GRADIENT, l);
    check_bits(gradient, first, 3, "g of weights");
    CHECK(xxh32(gradient, graph_weight_count(layer) * 4, 0) == digest, "g of the weights of layer %u", l);
    check_bits(gradient + graph_weight_count(layer), biases, layer->out_c, "g of biases");
}

static void test_values_of_a(void) {
    static const uint32_t input[] = {0x3CA0A0A1, 0x3E109091, 0x3E868687, 0x3EC4C4C6};
    static const uint32_t conv2d[] = {0x3EA8A8AA, 0x3F96A6A7, 0x3F450506, 0x3F3E7E7F};
    static const uint32_t pool[] = {0x3F450506, 0x3F96A6A7, 0x3F1FBFC0, 0x3F634343};
    static const uint32_t logits[] = {0xBEE20A0A, 0x3F51C5C6, 0xBE82FAFC}, loss = 0x3FDF82AC;
    static const uint32_t d[] = {0xBF5357E9, 0x3F1D9381, 0x3E5711A0};
    static const uint32_t g_conv[] = {0x3EF1DB1E, 0x3F2048BB, 0x3EED185C}, g_conv_bias[] = {0x3F9E0AB8, 0xBF048E28};
    static const uint32_t g_fc[] = {0xBF22A6CC, 0xBF78BE2F, 0xBF03E1E7};
    graph_made_t made;
    made_network_a(&made);
    const elasticzo_fp32_settings_t settings = vector_settings(0);
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    model_t *model = &trainee.engine->model;
    const pass_t pass = {.sample = model_sample(model, 0), .count = 1};
    float32_fill(&trainee, 0, 1);
    pass_run_all(model, &pass);
    const float found = pass_loss(model, &pass, 0);
    check_bits(&found, &loss, 1, "loss");
    model_format(model, 0)->open(model, &pass);
    check_bits(float32_buffer(model, PLAN_VALUE, 0), input, 4, "input");
    CHECK(xxh32(float32_buffer(model, PLAN_VALUE, 0), 36 * 4, 0) == 0x02A78892, "input");
    const seen_t seen = traced(&trainee);
    CHECK(seen.stages == 6, "%u stages", seen.stages);
    check_words(seen.first[0], conv2d, 4, "conv2d");
    check_words(seen.first[1], pool, 4, "max_pool");
    check_words(seen.first[2], logits, 3, "logits");
    check_words(seen.first[3], d, 3, "d");
    CHECK(seen.digest[0] == 0x44628CA4 && seen.digest[1] == 0x606A9E4C, "digests of values");
    check_tensor(model, 0, g_conv, 0xABBAC182, g_conv_bias);
    check_tensor(model, 2, g_fc, 0x1BA41926, d);
    float32_trainee_free(&trainee);
    made_free(&made);
}

static void test_values_of_b(void) {
    static const uint32_t digests[] = {0x0BA504EA, 0xB0664078, 0x598E3233, 0xFE772CFA,
                                       0x3CBA2856, 0x3FB75FEF, 0x815B1558, 0x492BF96E};
    static const uint32_t logits[] = {0x3E4A4D48, 0xBEAF73EC, 0xBDAD95C0};
    graph_made_t made;
    made_network_b(&made);
    const elasticzo_fp32_settings_t settings = vector_settings(5);
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    model_t *model = &trainee.engine->model;
    const pass_t pass = {.sample = model_sample(model, 0), .count = 1};
    float32_fill(&trainee, 0, 1);
    model_format(model, 0)->open(model, &pass);
    CHECK(xxh32(float32_buffer(model, PLAN_VALUE, 0), 32 * 4, 0) == digests[0], "value 0");
    const seen_t seen = traced(&trainee);
    CHECK(seen.stages == 7, "%u stages: errors are traced where back-propagation runs", seen.stages);
    check_words(seen.digest, digests + 1, 7, "value");
    check_words(seen.first[6], logits, 3, "logits");
    float32_trainee_free(&trainee);
    made_free(&made);
}

typedef struct {
    char network;
    uint8_t partition;
    struct {
        uint32_t plus, minus, digest[4], step;
    } steps[2];
} row_t;

static const row_t rows[] = {
    {'A',
     0,
     {{0x4019DE9F, 0x4019DE9F, {0x901130D9, 0x10D8ECB7, 0x99B9CB10, 0x4F7E433C}, 0x80CA927C},
      {0x40093603, 0x40093603, {0xA3C17CBB, 0xB084D44D, 0x19A5505A, 0x29A34AEE}, 0x8DFE4038}}},
    {'A',
     1,
     {{0x4019C852, 0x4019F500, {0xA500EB8D, 0x2AC0DFBD, 0xF54C88F0, 0x01E58E96}, 0x4D56989B},
      {0x400E200B, 0x400DE9A2, {0xFF9BE18C, 0x63EBB959, 0x70D6DDCB, 0xF3DE20F7}, 0x7C0E11BF}}},
    {'A',
     2,
     {{0x4019A0C3, 0x401A1C80, {0x9CB3CA5B, 0x94F4F8CB, 0xEF803422, 0x848CA84A}, 0x72A4ABBF},
      {0x40076B03, 0x40064AA1, {0x427A2518, 0x6BA36CEC, 0x34791C34, 0x1D169665}, 0xD829A128}}},
    {'B',
     0,
     {{0x40184C97, 0x40184C97, {0x116910FA, 0x2B358EED, 0x5DF6CAE7, 0xF349E9AA}, 0x36393053},
      {0x40162168, 0x40162168, {0x396FE35A, 0x118526C4, 0x50C8CA52, 0xAAF46505}, 0x8B153FBA}}},
    {'B',
     2,
     {{0x401858DC, 0x40184052, {0x322C2F44, 0x2517A63C, 0xFCF57EDF, 0xB4A1BA67}, 0x8C32C672},
      {0x401530B6, 0x401524B7, {0x7B19FD79, 0xA5B34BCB, 0x1B1E6A7B, 0x9C7CAF3A}, 0x372C3DD6}}},
    {'B',
     5,
     {{0x40186608, 0x4018331E, {0x4B815A15, 0x5013DE1D, 0x5CAFF09E, 0x2025EC7F}, 0xF2252E1B},
      {0x401477C8, 0x40147075, {0x0ED61F9B, 0x6DF2D0A0, 0x94353C04, 0xE224A1F0}, 0x45768F11}}},
};

/* Both samples at once; or one after the other, in the one slot that there is, once a pass. */
static step_result_t step_of(const float32_trainee_t *trainee, uint32_t step, bool in_parts, uint32_t *digests) {
    step_result_t result;
    for (uint8_t pass = 0; in_parts && pass < trainee->engine->model.training.passes; pass++) {
        for (uint16_t sample = 0; sample < 2; sample++) {
            float32_fill(trainee, sample, 1);
            const failure_t failure = engine_part(trainee->engine, step, pass, sample, 1);
            CHECK(failure.code == 0, "a part: code %u, a %u, b %u", failure.code, failure.a, failure.b);
        }
    }
    if (!in_parts) {
        float32_fill(trainee, 0, 2);
    }
    const failure_t failure = engine_step(trainee->engine, step, 2, &result, digests);
    CHECK(failure.code == 0, "a step: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return result;
}

static void check_row(const row_t *row, bool in_parts) {
    graph_made_t made;
    uint32_t digests[MOST_TENSORS];
    (row->network == 'A' ? made_network_a : made_network_b)(&made);
    elasticzo_fp32_settings_t settings = vector_settings(row->partition);
    settings.slots = in_parts ? 1 : 2;
    float32_trainee_t trainee = float32_trainee_new(&made, &settings);
    const uint8_t tensors = model_tensors(&trainee.engine->model);
    for (uint32_t step = 0; step < 2; step++) {
        const step_result_t result = step_of(&trainee, step, in_parts, digests);
        const float losses[] = {result.loss_plus, result.loss_minus};
        const uint32_t ends[] = {digests[0], digests[1], digests[tensors - 2], digests[tensors - 1]};
        const uint32_t whole = xxh32(digests, tensors * 4u, 0);
        CHECK(float32_bits(losses[0]) == row->steps[step].plus && float32_bits(losses[1]) == row->steps[step].minus,
              "%c, C = %u, step %u: %08X %08X", row->network, row->partition, step, float32_bits(losses[0]),
              float32_bits(losses[1]));
        check_words(ends, row->steps[step].digest, 4, "digests of tensors");
        CHECK(whole == row->steps[step].step, "step digest %08X", whole);
        CHECK(result.sign == (losses[0] > losses[1]) - (losses[0] < losses[1]), "the sign");
    }
    float32_trainee_free(&trainee);
    made_free(&made);
}

void test_float32_vectors(void) {
    test_random_numbers();
    test_moving();
    test_functions();
    test_loss();
    test_order();
    test_subnormal_numbers();
    test_values_of_a();
    test_values_of_b();
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i], false);
        check_row(&rows[i], true);
    }
}
