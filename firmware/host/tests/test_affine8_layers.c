/* The vectors of docs/arithmetic-affine8.md, section 11, of layers, forward and backward. */
#include <string.h>

#include "affine8_made.h"
#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "graph/affine8.h"
#include "kernels/affine8.h"
#include "kernels/affine8_elementwise.h"
#include "kernels/affine8_errors.h"
#include "kernels/pooling.h"

enum { OUTPUTS = 4, TAPS = 9 };

static const layer_shape_t shape = {.in_h = 2,
                                    .in_w = 2,
                                    .in_c = 1,
                                    .out_h = 2,
                                    .out_w = 2,
                                    .out_c = 1,
                                    .kernel_h = 3,
                                    .kernel_w = 3,
                                    .padding_h = 1,
                                    .padding_w = 1,
                                    .stride_h = 1,
                                    .stride_w = 1};
static const int8_t input[] = {10, -128, 127, 0}, weights[] = {100, -128, 37, -5, 127, 60, 90, -100, -41};

static void test_conv2d(void) {
    static const int8_t out[2][OUTPUTS] = {{-128, -97, -63, -47}, {-128, -98, -64, -47}};
    const float s_x = 1.0f / 255.0f, s_w = 0x1p-8f;
    for (uint32_t floors = 0; floors < 2; floors++) {
        const affine8_params_t y = affine8_params(0.0f, 1.5f, floors != 0);
        CHECK(float32_bits(y.s) == 0x3BC0C0C1 && y.z == -128, "the output");
        CHECK(affine8_limit(0.0f, &y) == -128 && affine8_limit(NO_LIMIT, &y) == 384, "its limits");
        const affine8_factor_t factor = affine8_factor((s_x * s_w) / y.s, floors != 0);
        CHECK(factor.m == 43690 && factor.n == 24, "(m, n): %u, %u", factor.m, factor.n);
        int32_t bias = affine8_round(-0.1f * (1.0f / (s_x * s_w)), false);
        CHECK(bias == -6528, "b_q: %d", bias);
        affine8_fold_bias(&bias, weights, -20, TAPS, 1, 1, TAPS, -120, &bias);
        CHECK(bias == 31872, "b': %d", bias);
        const affine8_layer_t layer = {.input_zero = -120,
                                       .weight_zero = -20,
                                       .output_zero = y.z,
                                       .least = -128,
                                       .most = 127,
                                       .factor = factor,
                                       .bias = &bias};
        int64_t scratch[64];
        int8_t found[OUTPUTS];
        affine8_conv2d(input, weights, &shape, &layer, (int8_t *)scratch, found);
        check_s8(found, out[floors], OUTPUTS, "conv2d");
        affine8_depthwise(input, weights, &shape, &layer, (int8_t *)scratch, found);
        check_s8(found, out[floors], OUTPUTS, "the same, depthwise");
    }
}

static void test_conv2d_backward(void) {
    static const int8_t error[] = {40, -128, 127, 3}, q[] = {-128, -122, -36, 127};
    static const int32_t acc[] = {-10266, -9581, 474, 19371};
    static const int32_t gradient[] = {-260, 15876, -976, -17784, 35508, 14360, -32851, -7315, 4200};
    static const uint32_t real[] = {0x3A828283 | 0x80000000u, 0x3D79090A, 0xBB74F4F6};
    static const uint16_t kept[] = {0};
    const affine8_errors_t errors = {.error = error, .zero = 5, .kept = kept, .count = 1};
    int64_t scratch[64];
    int32_t sums[TAPS] = {0}, bias = 0;
    int8_t found[OUTPUTS];
    float real_gradient[TAPS] = {0.0f};
    affine8_conv2d_input_error(&errors, weights, -20, &shape, (int32_t *)scratch, sums);
    check_s32(sums, acc, OUTPUTS, "acc");
    affine8_depthwise_input_error(&errors, weights, -20, &shape, (int8_t *)scratch, sums);
    check_s32(sums, acc, OUTPUTS, "acc of depthwise");
    const affine8_tensor_t tensor = {.context = sums, .n = OUTPUTS, .c = 0x1p-8f * 0x1p-10f};
    const affine8_rule_t rule = {.floors = false};
    const affine8_error_t of = affine8_quantize_sums(&tensor, &rule, found);
    CHECK(float32_bits(of.s) == 0x39E872DD && of.z == -40, "%08X, %d", float32_bits(of.s), of.z);
    check_s8(found, q, OUTPUTS, "the input error");
    memset(sums, 0, sizeof sums);
    affine8_conv2d_weight_gradient(input, &errors, &shape, -120, (int8_t *)scratch, sums);
    check_s32(sums, gradient, TAPS, "the gradient");
    affine8_add_gradient(sums, TAPS, 1, 0x1p-10f * (1.0f / 255.0f), 1, real_gradient);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(float32_bits(real_gradient[i]) == real[i], "%u: %08X", i, float32_bits(real_gradient[i]));
    }
    memset(sums, 0, sizeof sums);
    affine8_depthwise_weight_gradient(input, &errors, &shape, -120, (int8_t *)scratch, sums);
    check_s32(sums, gradient, TAPS, "the gradient of depthwise");
    affine8_bias_gradient(&errors, OUTPUTS, 1, &bias);
    CHECK(bias == 22, "bias: %d", bias);
}

static void test_add_and_multiply(void) {
    static const int8_t a[] = {100, 127, -128}, b[] = {-77, 127, -128}, out[] = {44, 127, -128};
    static const int8_t factors_of[] = {-77, 127, 0}, products[] = {-13, 127, -128};
    const affine8_params_t sum = affine8_params(-8.0f, 8.0f, false), product = affine8_params(-3.0f, 6.0f, false);
    int32_t factors[2];
    const float common = affine8_common_scale(0.05f, 0.03f, factors);
    affine8_two_t two = {.a_zero = -5,
                         .b_zero = 3,
                         .output_zero = sum.z,
                         .least = -128,
                         .most = 127,
                         .a_factor = factors[0],
                         .b_factor = factors[1],
                         .factor = affine8_factor((common * 0x1p-14f) / sum.s, false)};
    int8_t found[3];
    CHECK(factors[0] == 16384 && factors[1] == 9830, "A, B: %d, %d", factors[0], factors[1]);
    CHECK(two.factor.m == 52223 && two.factor.n == 30, "(m, n): %u, %u", two.factor.m, two.factor.n);
    affine8_add(a, b, 3, &two, found);
    check_s8(found, out, 3, "add");
    two.b_zero = -128;
    two.output_zero = product.z;
    two.factor = affine8_factor((0.05f * (1.0f / 255.0f)) / product.s, false);
    CHECK(two.factor.m == 46603 && two.factor.n == 23 && product.z == -43, "(m, n): %u, %u", two.factor.m,
          two.factor.n);
    affine8_multiply(a, factors_of, 1, 3, &two, found);
    check_s8(found, products, 3, "multiply");
}

static void test_hard_swish(void) {
    static const int8_t q[] = {-128, -60, -40, -15, 0, 40, 100, 127},
                        outputs[] = {-110, -128, -125, -110, -95, -34, 83, 127};
    static const int16_t slopes[] = {0, -4, 26, 64, 87, 147, 128, 128};
    const affine8_params_t in = affine8_params(-4.0f, 5.0f, false), out = affine8_params(-0.375f, 5.0f, false);
    int8_t table[AFFINE8_VALUES], found[8];
    int16_t d[AFFINE8_VALUES];
    CHECK(float32_bits(in.s) == 0x3D109091 && in.z == -15 && float32_bits(out.s) == 0x3CACACAD && out.z == -110,
          "the ranges");
    affine8_hard_swish_outputs(&in, &out, false, table);
    affine8_hard_swish_slopes(&in, d);
    CHECK(xxh32(table, sizeof table, 0) == 0xA13F75FC && xxh32(d, sizeof d, 0) == 0xDB3D8066, "the tables");
    affine8_look_up(q, 8, table, found);
    check_s8(found, outputs, 8, "hard_swish");
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(d[q[i] + 128] == slopes[i], "d of %d: %d", q[i], d[q[i] + 128]);
    }
}

/* With a scale of 2^-4, -3 and 3 are values. */
static void test_hard_swish_bends(void) {
    static const int8_t q[] = {-49, -48, -47, 47, 48, 49};
    static const int16_t slopes[] = {0, 0, -61, 189, 128, 128};
    const affine8_params_t in = affine8_params(-8.0f, 7.9375f, false);
    int16_t d[AFFINE8_VALUES];
    affine8_hard_swish_slopes(&in, d);
    for (uint32_t i = 0; i < sizeof q; i++) {
        CHECK(in.s == 0x1p-4f && in.z == 0 && d[q[i] + 128] == slopes[i], "d of %d: %d", q[i], d[q[i] + 128]);
    }
}

/* The digest of a layer's trained tensor: its padded weights and the numbers that follow them. */
static void test_digest(void) {
    static const int8_t bytes[8] = {1, -2, 127, -128, 30};
    const affine8_tail_t tail = {.scale = 0x1p-8f, .zero = -20, .range = {.low = -0.5f, .high = 1.5f}};
    xxh32_t digest;
    xxh32_begin(&digest, 0);
    xxh32_update(&digest, bytes, sizeof bytes);
    xxh32_update(&digest, &tail, sizeof tail);
    CHECK(xxh32_end(&digest) == 0xF062A593, "the digest");
}

static void test_converter(void) {
    static const float reals[] = {0.3f, -0.1f, 0.02f, 0.25f, -0.37f};
    static const int8_t q[] = {127, -25, 21, 108, -128};
    const affine8_params_t params = affine8_params(-0.37f, 0.3f, false);
    CHECK(float32_bits(params.s) == 0x3B2C3150 && params.z == 13, "%08X, %d", float32_bits(params.s), params.z);
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(affine8_quantize(reals[i], params.j, params.z, false) == q[i], "weight %u", i);
    }
}

static void test_average_pool(void) {
    static const int8_t in[] = {1, 1, 1, 0, -1, -1, 0, 0, 127, 126, 126, 126},
                        means[2][3] = {{1, 0, 126}, {0, -1, 126}};
    static const layer_shape_t pool = {.in_h = 1,
                                       .in_w = 12,
                                       .in_c = 1,
                                       .out_h = 1,
                                       .out_w = 3,
                                       .out_c = 1,
                                       .kernel_h = 1,
                                       .kernel_w = 4,
                                       .stride_h = 4,
                                       .stride_w = 4};
    int8_t found[3];
    for (uint32_t floors = 0; floors < 2; floors++) {
        affine8_average_pool(in, &pool, floors != 0, found);
        check_s8(found, means[floors], 3, "average_pool");
    }
}

static void test_errors_of_pools(void) {
    static const int8_t in[] = {5, -7, -128, -4, -3, 127}, error[] = {9, -20};
    static const int8_t spread[] = {9, 9, 4, -20, -20, 4}, largest[] = {9, 4, 4, 4, -20, 4};
    static const layer_shape_t pool = {.in_h = 1,
                                       .in_w = 6,
                                       .in_c = 1,
                                       .out_h = 1,
                                       .out_w = 2,
                                       .out_c = 1,
                                       .kernel_h = 1,
                                       .kernel_w = 2,
                                       .stride_h = 3,
                                       .stride_w = 3};
    int8_t found[6];
    average_pool_error_s8(error, &pool, 4, found);
    check_s8(found, spread, 6, "average_pool");
    max_pool_error_s8(in, error, &pool, 4, found);
    check_s8(found, largest, 6, "max_pool");
}

void test_affine8_layers(void) {
    test_conv2d();
    test_conv2d_backward();
    test_add_and_multiply();
    test_hard_swish();
    test_hard_swish_bends();
    test_digest();
    test_converter();
    test_average_pool();
    test_errors_of_pools();
}
