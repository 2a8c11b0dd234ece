/* Kernels that errors pass between layers, with numbers at their ends: docs/arithmetic-affine8.md, sections 2 and 4. */
#include "check.h"
#include "kernels/affine8.h"
#include "kernels/affine8_elementwise.h"
#include "kernels/affine8_errors.h"

enum { ROUNDS = 400, MOST = 150, LEAST_SLOPE = -64, MOST_SLOPE = 192 };

static int8_t any(void) {
    static const int8_t ends[] = {INT8_MIN, INT8_MAX};
    return draw(0, 2) > 0 ? (int8_t)draw(INT8_MIN, INT8_MAX) : ends[draw(0, 1)];
}

/* The error of hard_swish is that of its sums in memory, for each rule; some are so small that they stay as they are. */
static void test_hard_swish(void) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t n = (uint32_t)draw(1, MOST);
        const affine8_error_t of = {.s = 0x1p-9f, .z = any()};
        const bool small = draw(0, 3) == 0;
        int16_t slopes[AFFINE8_VALUES];
        int8_t *in = take(n), *error = take(n), *found = take(n), *expected = take(n);
        int32_t sums[MOST];
        for (uint32_t i = 0; i < AFFINE8_VALUES; i++) {
            slopes[i] = (int16_t)draw(small ? -1 : LEAST_SLOPE, small ? 1 : MOST_SLOPE);
        }
        slopes[draw(0, AFFINE8_VALUES - 1)] = small ? 0 : MOST_SLOPE;
        slopes[draw(0, AFFINE8_VALUES - 1)] = small ? 0 : LEAST_SLOPE;
        for (uint32_t i = 0; i < n; i++) {
            in[i] = any();
            error[i] = draw(0, 3) > 0 ? any() : of.z;
            sums[i] = (error[i] - of.z) * slopes[in[i] - INT8_MIN];
        }
        affine8_running_t range = {.low = -0.01f * (float)draw(0, 3), .high = 0.01f}, same = range;
        const bool runs = draw(0, 2) == 0, floors = draw(0, 1) == 0;
        const affine8_rule_t rule = {.floors = floors, .running = runs ? &range : NULL, .momentum = 0.25f},
                             like_it = {.floors = floors, .running = runs ? &same : NULL, .momentum = 0.25f};
        const affine8_tensor_t tensor = {.context = sums, .n = n, .c = of.s * 0x1p-7f};
        const affine8_error_t by_sums = affine8_quantize_sums(&tensor, &like_it, expected),
                              own = affine8_hard_swish_error(in, slopes, error, of, n, &rule, found);
        CHECK(own.s == by_sums.s && own.z == by_sums.z, "scale and zero point of %u, zero point %d", n, of.z);
        CHECK(range.low == same.low && range.high == same.high, "the range");
        check_s8(found, expected, n, "hard_swish");
        free(in);
        free(error);
        free(found);
        free(expected);
    }
}

/* So many positions that sums of bytes leave 16 bits. */
static void test_norms(void) {
    enum { POSITIONS = 700, CHANNELS = 21 };
    for (uint32_t round = 0; round < 20; round++) {
        const uint32_t positions = (uint32_t)draw(1, POSITIONS), channels = (uint32_t)draw(1, CHANNELS);
        const int8_t zero = round % 2 == 0 ? (int8_t)INT8_MIN : any();
        int8_t *error = take(positions * channels);
        uint32_t norms[CHANNELS], expected[CHANNELS] = {0};
        for (uint32_t i = 0; i < positions * channels; i++) {
            error[i] = round % 4 == 0 ? (int8_t)INT8_MAX : any();
            expected[i % channels] += (uint32_t)(error[i] > zero ? error[i] - zero : zero - error[i]);
        }
        affine8_error_norms(error, zero, positions, channels, norms);
        for (uint32_t o = 0; o < channels; o++) {
            CHECK(norms[o] == expected[o], "channel %u: %u, not %u", o, norms[o], expected[o]);
        }
        free(error);
    }
}

/* Without an activation all errors pass, those of the least and the largest output too. */
static void test_gate(void) {
    const int8_t out[] = {INT8_MIN, 0, INT8_MAX};
    int8_t error[] = {1, 2, 3};
    affine8_gate(out, 3, INT8_MIN - 1, INT8_MAX + 1, 0, error);
    CHECK(error[0] == 1 && error[1] == 2 && error[2] == 3, "open");
    affine8_gate(out, 3, INT8_MIN, INT8_MAX + 1, 0, error);
    CHECK(error[0] == 0 && error[1] == 2 && error[2] == 3, "the least is shut");
    affine8_gate(out, 3, INT8_MIN - 1, INT8_MAX, 0, error);
    CHECK(error[1] == 2 && error[2] == 0, "the largest, too");
}

void test_affine8_errors(void) {
    test_hard_swish();
    test_norms();
    test_gate();
}
