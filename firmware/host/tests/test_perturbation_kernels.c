#include <string.h>

#include "arith/rademacher.h"
#include "check.h"
#include "kernels/perturbation.h"
#include "kernels/updates.h"
#include "naive_zeroth_order.h"

enum { ROUNDS = 400, LONGEST = 150 };

static uint32_t draw_state(void) {
    const uint32_t state = ((uint32_t)draw(0, 0xFFFF) << 16) | (uint32_t)draw(0, 0xFFFF);
    return state == 0 ? 1 : state;
}

/* The next 32 draws of a stream, without stepping it. */
static uint32_t naive_signs(uint32_t state) {
    uint32_t signs = 0;
    for (uint32_t i = 0; i < 32; i++) {
        signs |= naive_xi(&state) < 0 ? 1u << i : 0;
    }
    return signs;
}

/* Linear on all 32 states of one bit, it is right for every state; chance besides. */
static void test_signs(void) {
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t state = 1u << i, signs = rademacher_begin(state);
        for (uint32_t word = 0; word < 100; word++) {
            CHECK(signs == naive_signs(state), "word %u of state 2^%u: %08x, not %08x", word, i, signs,
                  naive_signs(state));
            for (uint32_t j = 0; j < 32; j++) {
                naive_xi(&state);
            }
            signs = rademacher_next(signs);
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t a = draw_state(), b = draw_state();
        CHECK(rademacher_next(a ^ b) == (rademacher_next(a) ^ rademacher_next(b)), "%08x and %08x", a, b);
        uint32_t state = a;
        const uint32_t signs = rademacher_begin(a);
        for (uint32_t n = 0; n < 32; n++) {
            CHECK(rademacher_skip(signs, n) == naive_signs(state), "%u draws after %08x", n, a);
            naive_xi(&state);
        }
    }
}

static void test_state(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t seed = draw_state(), step = (uint32_t)draw(0, 5000);
        const uint32_t sample = (uint32_t)draw(0, 65535), layer = (uint32_t)draw(0, 63), query = (uint32_t)draw(0, 126);
        const uint32_t i = 1 + ((sample * 64 + layer) * 128 + query);
        CHECK(rademacher_state(seed, step, sample, layer, query) == stream_start(seed, step, i), "stream %u", i);
    }
}

/* Perturbed in two parts and restored in one, of each sign. */
static void check_weights(uint32_t n, uint32_t first, int32_t k) {
    const uint32_t start = draw_state();
    uint32_t state = start;
    int8_t *rest = draw_s8(n, 126), *weights = take(n), *expected = take(n);
    for (uint32_t i = 0; i < n; i++) {
        rest[i] = (int8_t)(draw(0, 3) == 0 ? 126 * (2 * draw(0, 1) - 1) : rest[i]);
        expected[i] = (int8_t)(rest[i] + k * naive_xi(&state));
    }
    memcpy(weights, rest, n);
    uint32_t signs = perturb_weights_s8(weights, first, rademacher_begin(start), k);
    signs = perturb_weights_s8(weights + first, n - first, signs, k);
    check_s8(weights, expected, n, "perturb_weights_s8");
    CHECK(signs == naive_signs(state), "the stream behind %u weights", n);
    perturb_weights_s8(weights, n, rademacher_begin(start), -k);
    check_s8(weights, rest, n, "weights restored");
    free(rest);
    free(weights);
    free(expected);
}

static void check_biases(uint32_t n, int32_t k) {
    const uint32_t start = draw_state();
    uint32_t state = start;
    int32_t *rest = take(n * sizeof *rest), *bias = take(n * sizeof *bias), *expected = take(n * sizeof *expected);
    int8_t *shift = take(n);
    for (uint32_t i = 0; i < n; i++) {
        shift[i] = (int8_t)draw(-31, 30);
        rest[i] = bias[i] = draw(0, 2) == 0 ? (1 << 30) * (2 * draw(0, 1) - 1) : draw(-1000, 1000);
        int32_t m = 1;
        for (int32_t j = 0; j < -shift[i] && j < 20; j++) {
            m = 2 * m;
        }
        expected[i] = rest[i] + k * naive_xi(&state) * m;
    }
    const uint32_t signs = perturb_biases_s32(bias, shift, n, rademacher_begin(start), k);
    check_s32(bias, expected, n, "perturb_biases_s32");
    CHECK(signs == naive_signs(state), "the stream behind %u biases", n);
    perturb_biases_s32(bias, shift, n, rademacher_begin(start), -k);
    check_s32(bias, rest, n, "biases restored");
    free(rest);
    free(bias);
    free(expected);
    free(shift);
}

static void check_nodes(uint32_t n, uint32_t first, int8_t act_min, int8_t act_max) {
    const uint32_t start = draw_state();
    uint32_t state = start;
    int8_t *in = take(n), *out = take(n), *expected = take(n);
    for (uint32_t i = 0; i < n; i++) {
        in[i] = (int8_t)(draw(0, 2) == 0 ? draw(-128, 127) : draw(act_min, act_max));
        const int32_t xi = naive_xi(&state);
        expected[i] = (int8_t)(in[i] > act_min && in[i] < act_max ? in[i] + xi : in[i]);
    }
    uint32_t signs = perturb_nodes_s8(in, first, act_min, act_max, rademacher_begin(start), out);
    signs = perturb_nodes_s8(in + first, n - first, act_min, act_max, signs, out + first);
    check_s8(out, expected, n, "perturb_nodes_s8");
    CHECK(signs == naive_signs(state), "the stream behind %u nodes", n);
    perturb_nodes_s8(in, n, act_min, act_max, rademacher_begin(start), in);
    check_s8(in, expected, n, "perturb_nodes_s8 in place");
    free(in);
    free(out);
    free(expected);
}

static void test_limit(void) {
    int32_t values[] = {INT32_MIN, -(1 << 30), -5, 0, 7, (1 << 30) + 1, INT32_MAX};
    const int32_t expected[] = {-1072693248, -1072693248, -5, 0, 7, 1072693248, 1072693248};
    limit_s32(values, 7, 1072693248);
    check_s32(values, expected, 7, "limit_s32");
}

void test_perturbation_kernels(void) {
    test_signs();
    test_state();
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t n = (uint32_t)draw(0, LONGEST), first = n == 0 ? 0 : (uint32_t)draw(0, (int32_t)n - 1) / 4 * 4;
        check_weights(n, first, round % 2 == 0 ? 1 : -1);
        check_biases((uint32_t)draw(0, 80), round % 2 == 0 ? 1 : -1);
        const int8_t act_min = (int8_t)(draw(0, 1) == 0 ? -128 : draw(-128, 127));
        const int32_t near = act_min + draw(0, 2);
        check_nodes(n, first, act_min, (int8_t)(draw(0, 1) == 0 ? draw(act_min, 127) : near < 127 ? near : 127));
        check_nodes(n, first, act_min, 127);
    }
    test_limit();
}
