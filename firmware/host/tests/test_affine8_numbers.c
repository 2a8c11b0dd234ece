/* The vectors of docs/arithmetic-affine8.md, section 11, of numbers and of tensors. */
#include <string.h>

#include "arith/float32.h"
#include "arith/xxh32.h"
#include "check.h"
#include "graph/affine8.h"
#include "kernels/affine8_elementwise.h"
#include "kernels/affine8_errors.h"
#include "kernels/layers_f32.h"

static void test_factors(void) {
    static const struct {
        float f;
        uint16_t m;
        uint8_t n;
    } rows[] = {{0.01f, 41943, 22}, {0.25f, 32768, 17}, {1.0f / 3.0f, 43690, 17}, {255.0f / 256.0f, 65280, 16},
                {1.0f, 65535, 16},  {3.0f, 65535, 16},  {0x1p-31f, 32768, 46},    {0.0f, 0, 46},
                {0x1p-149f, 0, 46}, {-1.0f, 0, 46}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const affine8_factor_t factor = affine8_factor(rows[i].f, true);
        CHECK(factor.m == rows[i].m && factor.n == rows[i].n && factor.floors, "row %u: %u, %u", i, factor.m, factor.n);
    }
    const affine8_factor_t below = affine8_factor(float32_from_bits(0x2FFFF972), false);
    CHECK(below.m == 0 && below.n == 46, "just below 2^-31: %u, %u", below.m, below.n);
    CHECK(float32_bits(float32_of_u64((UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1)) == 0x5D800001, "float");
}

static void test_rescale(void) {
    static const int32_t a[] = {4, -4, 5, -5, 100000, -100000, 1602240512, -1602240512};
    static const struct {
        uint16_t m;
        uint8_t n;
        int32_t nearest[8], floor[8];
    } rows[] = {
        {65535,
         16,
         {4, -4, 5, -5, 99998, -99998, 1602216064, -1602216064},
         {3, -4, 4, -5, 99998, -99999, 1602216063, -1602216064}},
        {41943, 22, {0, 0, 0, 0, 1000, -1000, 16022390, -16022390}, {0, -1, 0, -1, 999, -1000, 16022389, -16022390}},
        {32768,
         18,
         {1, 0, 1, -1, 12500, -12500, 200280064, -200280064},
         {0, -1, 0, -1, 12500, -12500, 200280064, -200280064}},
        {50000, 40, {0, 0, 0, 0, 0, 0, 73, -73}, {0, -1, 0, -1, 0, -1, 72, -73}},
    };
    for (uint32_t i = 0; i < 4; i++) {
        affine8_factor_t factor = {.m = rows[i].m, .n = rows[i].n};
        for (uint32_t j = 0; j < 8; j++) {
            const int32_t found = affine8_rescale(a[j], factor);
            CHECK(found == rows[i].nearest[j], "row %u, %d: %d", i, a[j], found);
        }
        factor.floors = true;
        for (uint32_t j = 0; j < 8; j++) {
            const int32_t found = affine8_rescale(a[j], factor);
            CHECK(found == rows[i].floor[j], "row %u, %d, floor: %d", i, a[j], found);
        }
    }
}

static void test_params(void) {
    static const struct {
        float low, high;
        uint32_t s, j;
        int8_t nearest, floor;
    } rows[] = {{0.0f, 1.0f, 0x3B808081, 0x437EFFFF, -128, -128},
                {-0.5f, 0.25f, 0x3B40C0C1, 0x43AA0000, 42, 42},
                {-1.0f, 0.0f, 0x3B808081, 0x437EFFFF, 127, 126},
                {-0.1f, 1.7f, 0x3BE74DB5, 0x430DAAAA, -114, -114},
                {0.0f, 6.0f, 0x3CC0C0C1, 0x422A0000, -128, -128}};
    static const float x[] = {0.0f, 1.0f, -1.0f, 0.003f, -0.003f, 1.7f, 3.0f};
    static const int8_t nearest[] = {-114, 28, -128, -114, -114, 127, 127},
                        floors[] = {-114, 27, -128, -114, -115, 126, 127};
    for (uint32_t i = 0; i < 5; i++) {
        const affine8_params_t params = affine8_params(rows[i].low, rows[i].high, false),
                               down = affine8_params(rows[i].low, rows[i].high, true);
        CHECK(float32_bits(params.s) == rows[i].s && float32_bits(params.j) == rows[i].j, "row %u: %08X %08X", i,
              float32_bits(params.s), float32_bits(params.j));
        CHECK(params.z == rows[i].nearest && down.z == rows[i].floor, "row %u: %d, %d", i, params.z, down.z);
    }
    const affine8_params_t params = affine8_params(-0.1f, 1.7f, false);
    for (uint32_t i = 0; i < 7; i++) {
        const int8_t found[] = {affine8_quantize(x[i], params.j, params.z, false),
                                affine8_quantize(x[i], params.j, params.z, true)};
        CHECK(found[0] == nearest[i] && found[1] == floors[i], "%u: %d, %d", i, found[0], found[1]);
    }
}

static void check_error(affine8_error_t found, uint32_t s, int32_t z, const char *what) {
    CHECK(float32_bits(found.s) == s && found.z == z, "%s: %08X, %d", what, float32_bits(found.s), found.z);
}

static void test_float_tensor(void) {
    static const uint32_t bits[] = {0x3E400000, 0xBF200000, 0x3EE00000};
    static const int8_t nearest[] = {67, -128, 127}, floors[] = {65, -128, 125}, zeros[] = {0, 0, 0};
    float values[3];
    int8_t q[3];
    memcpy(values, bits, sizeof values);
    check_error(affine8_quantize_f32(values, 3, false, q), 0x3B888889, 22, "nearest");
    check_s8(q, nearest, 3, "nearest");
    check_error(affine8_quantize_f32(values, 3, true, q), 0x3B888889, 21, "floor");
    check_s8(q, floors, 3, "floor");
    const float small[] = {0x1p-101f, 0.0f, -0x1p-102f};
    check_error(affine8_quantize_f32(small, 3, false, q), 0, 0, "zero");
    check_s8(q, zeros, 3, "zero");
}

/* The sums of a tensor one by one, as the errors between layers are made. */
static void fill(const void *context, uint32_t first, uint32_t n, int32_t *sums) {
    memcpy(sums, (const int32_t *)context + first, n * sizeof sums[0]);
}

static void test_integer_tensors(void) {
    static const struct {
        uint32_t n;
        int32_t acc[4];
        uint32_t s;
        int8_t z, q[4], floor_z, floor_q[4];
    } rows[] = {
        {2, {0, 0}, 0x00000000, 0, {0, 0}, 0, {0, 0}},
        {3, {3, -5, 0}, 0x39000000, -123, {-120, -128, -123}, -123, {-120, -128, -123}},
        {2, {10, 200}, 0x39000000, -128, {-118, 72}, -128, {-118, 72}},
        {3, {-100, 155, 0}, 0x39000000, -28, {-128, 127, -28}, -28, {-128, 127, -28}},
        {3, {-100, 156, 0}, 0x39008081, -28, {-128, 127, -28}, -29, {-128, 126, -29}},
        {4, {-1000, 24, 1, -1}, 0x3A008081, 121, {-128, 127, 121, 121}, 121, {-128, 126, 121, 120}},
        {4, {70000, -30000, 137, -137}, 0x3D441523, -52, {126, -128, -52, -52}, -52, {126, -128, -52, -53}},
        {3, {2130739200, -2130739200, 8388608}, 0x44FF00FF, -1, {126, -128, 0}, -1, {126, -128, -1}},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t floors = 0; floors < 2; floors++) {
            for (uint32_t one_by_one = 0; one_by_one < 2; one_by_one++) {
                const affine8_tensor_t tensor = {
                    .fill = one_by_one ? fill : NULL, .context = rows[i].acc, .n = rows[i].n, .c = 0x1p-13f};
                const affine8_rule_t rule = {.floors = floors != 0};
                int8_t q[4];
                check_error(affine8_quantize_sums(&tensor, &rule, q), rows[i].s, floors ? rows[i].floor_z : rows[i].z,
                            "an integer tensor");
                check_s8(q, floors ? rows[i].floor_q : rows[i].q, rows[i].n, "an integer tensor");
            }
        }
    }
    const int32_t some[] = {7, -9};
    const affine8_tensor_t worthless = {.context = some, .n = 2, .c = 0.0f};
    const affine8_rule_t rule = {.floors = false};
    int8_t q[] = {1, 1};
    check_error(affine8_quantize_sums(&worthless, &rule, q), 0, 0, "sums worth nothing");
    check_s8(q, (const int8_t[]){0, 0}, 2, "sums worth nothing");
}

static void test_running(void) {
    static const struct {
        uint32_t n;
        int32_t acc[3];
        uint32_t s;
        int8_t z, q[3];
        uint32_t low, high;
    } rows[] = {
        {2, {0, 0}, 0x00000000, 0, {0, 0}, 0x00000000, 0x00000000},
        {3, {70000, -30000, 137}, 0x3D441414, -52, {126, -128, -52}, 0xC06A6000, 0x4108B800},
        {3, {9000, -90000, 137}, 0x3D441414, -52, {-29, -128, -52}, 0xC083D600, 0x410145C0},
        {2, {0, 0}, 0x00000000, 0, {0, 0}, 0xC083D600, 0x410145C0},
        {3, {50000, -20000, 400}, 0x3D43F4B5, -42, {86, -93, -41}, 0xC0807AA0, 0x40FE97C8},
    };
    affine8_running_t range = {0.0f, 0.0f};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const affine8_tensor_t tensor = {.context = rows[i].acc, .n = rows[i].n, .c = 0x1p-13f};
        const affine8_rule_t rule = {.running = &range, .momentum = 0.0625f};
        int8_t q[3];
        check_error(affine8_quantize_sums(&tensor, &rule, q), rows[i].s, rows[i].z, "a running range");
        check_s8(q, rows[i].q, rows[i].n, "a running range");
        CHECK(float32_bits(range.low) == rows[i].low && float32_bits(range.high) == rows[i].high, "row %u: %08X %08X",
              i, float32_bits(range.low), float32_bits(range.high));
    }
    static const int32_t acc[] = {70000, -30000};
    const affine8_tensor_t tensor = {.context = acc, .n = 2, .c = 0x1p-101f};
    const affine8_rule_t rule = {.running = &range, .momentum = 0.0625f};
    int8_t q[2];
    check_error(affine8_quantize_sums(&tensor, &rule, q), 0, 0, "sums that are worth too little for a range");
}

static void test_two_readers(void) {
    int8_t first[] = {127, -128, 10, 20};
    static const int8_t second[] = {-128, 60, 127, -50}, both[] = {-128, -97, 127, -116};
    const affine8_error_t of_first = {.s = 0x1p-9f, .z = 20}, of_second = {.s = 0.003f, .z = -50}, none = {.s = 0.0f};
    check_error(affine8_merge_errors(first, of_first, second, none, 4, false), 0x3B000000, 20, "the first stays");
    check_error(affine8_merge_errors(first, of_first, second, of_second, 4, false), 0x3B09E092, -116, "both");
    check_s8(first, both, 4, "both");
    check_error(affine8_merge_errors(first, none, second, of_second, 4, false), float32_bits(0.003f), -50,
                "the second");
    check_s8(first, second, 4, "the second");
}

static void test_hard_swish_f32(void) {
    static const uint32_t x[] = {0xC0400000, 0xC0200000, 0xBF400000, 0x3E99999A, 0x4039999A, 0x40400000, 0x40800000};
    static const uint32_t y[] = {0x00000000, 0xBE555556, 0xBE900000, 0x3E28F5C3, 0x403681B6, 0x40400000, 0x40800000};
    static const uint32_t e[] = {0x00000000, 0xBF000000, 0x3EC00000, 0x3F666667, 0x400CCCCD, 0x3FC00000, 0x3FC00000};
    for (uint32_t i = 0; i < 7; i++) {
        const float in = float32_from_bits(x[i]), error = 1.5f;
        float out, back;
        hard_swish_f32(&in, 1, &out);
        hard_swish_f32_backward(&in, &error, 1, false, &back);
        CHECK(float32_bits(out) == y[i] && float32_bits(back) == e[i], "%u: %08X, %08X", i, float32_bits(out),
              float32_bits(back));
        hard_swish_f32_backward(&in, &error, 1, true, &back);
        CHECK(back == 2.0f * float32_from_bits(e[i]), "%u, a further error", i);
    }
}

static void test_multiply_f32(void) {
    static const float a[] = {1.0f, -2.0f, 3.0f, 0.5f, 0x1p39f, -4.0f}, b[] = {-3.0f, 4.0f},
                       error[] = {1.0f, 2.0f, -1.0f, 4.0f, 0.25f, 0.0f};
    static const float product[] = {-3.0f, -8.0f, -9.0f, 2.0f, -0x1p40f, -16.0f},
                       of_a[] = {-3.0f, 8.0f, 3.0f, 16.0f, -0.75f, 0.0f}, of_b[] = {0x1p37f, -2.0f};
    float out[6], to_a[6], to_b[2];
    multiply_f32(a, b, 3, 2, out);
    multiply_f32_error_of_a(b, error, 3, 2, false, to_a);
    multiply_f32_error_of_b(a, error, 3, 2, false, to_b);
    for (uint32_t i = 0; i < 6; i++) {
        CHECK(out[i] == product[i] && to_a[i] == of_a[i], "%u: %a, %a", i, (double)out[i], (double)to_a[i]);
        CHECK(float32_bits(to_a[i]) != 0x80000000u, "no -0");
    }
    CHECK(to_b[0] == of_b[0] && to_b[1] == of_b[1], "%a %a", (double)to_b[0], (double)to_b[1]);
}

void test_affine8_numbers(void) {
    test_factors();
    test_rescale();
    test_params();
    test_float_tensor();
    test_integer_tensors();
    test_running();
    test_two_readers();
    test_hard_swish_f32();
    test_multiply_f32();
}
