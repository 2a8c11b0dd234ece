#include <math.h>
#include <string.h>

#include "arith/float32.h"
#include "arith/rademacher.h"
#include "check.h"
#include "kernels/gradients.h"
#include "kernels/losses.h"
#include "naive.h"
#include "naive_zeroth_order.h"

enum { ROUNDS = 200, MOST_QUERIES = 127, LARGEST_DELTA = 1 << 21 };

static uint32_t next_state(uint32_t q) {
    return 1u + (uint32_t)draw(0, 1 << 30) * 2u + q;
}

/* Queries with random deltas, or with the largest, and the state of each. */
static uint32_t draw_queries(query_t *queries, uint32_t *states) {
    const int32_t kind = draw(0, 3);
    const uint32_t count = (uint32_t)(kind == 0 ? MOST_QUERIES : draw(1, 12));
    const int32_t bound = kind == 1 ? LARGEST_DELTA : 1 << draw(0, 21);
    for (uint32_t q = 0; q < count; q++) {
        states[q] = next_state(q);
        queries[q].signs = rademacher_begin(states[q]);
        queries[q].delta = kind == 1 ? bound * (2 * draw(0, 1) - 1) : draw(-bound, bound);
    }
    return count;
}

/* The double loop of section 5: one draw of every query for each element. */
static int64_t naive_sum(const query_t *queries, uint32_t *states, uint32_t count) {
    int64_t sum = 0;
    for (uint32_t q = 0; q < count; q++) {
        sum += (int64_t)queries[q].delta * naive_xi(&states[q]);
    }
    return sum;
}

static void test_signed_sums(void) {
    for (int round = 0; round < ROUNDS; round++) {
        query_t queries[MOST_QUERIES];
        uint32_t states[MOST_QUERIES];
        const uint32_t count = draw_queries(queries, states);
        for (uint32_t part = 0; part < 3; part++) { /* ranges, one behind the other */
            const uint32_t n = (uint32_t)draw(0, 100);
            int32_t *sums = take(n * sizeof *sums);
            signed_sums_s32(queries, count, n, sums);
            for (uint32_t i = 0; i < n; i++) {
                const int64_t expected = naive_sum(queries, states, count);
                CHECK(sums[i] == expected, "signed_sums_s32, element %u: %d, not %lld", i, sums[i],
                      (long long)expected);
            }
            free(sums);
        }
    }
}

/* e8 of one node; |e| reaches 2^28. */
static int64_t naive_e8(int64_t e, int64_t total) {
    const int64_t s = naive_bits((uint64_t)total) - 7;
    return s >= 1 ? naive_round_shift(e, s) : e;
}

static void test_node_errors(void) {
    for (int round = 0; round < ROUNDS; round++) {
        query_t queries[MOST_QUERIES];
        uint32_t states[MOST_QUERIES];
        const uint32_t count = draw_queries(queries, states), n = (uint32_t)draw(1, 150);
        int64_t total = 0;
        for (uint32_t q = 0; q < count; q++) {
            total += llabs(queries[q].delta);
        }
        const int32_t shift = node_error_shift(queries, count);
        const int64_t wanted = naive_bits((uint64_t)total) - 7;
        CHECK(shift == (wanted < 0 ? 0 : wanted), "shift %d", shift);
        const int8_t act_min = (int8_t)draw(-128, 0),
                     act_max = (int8_t)(round % 8 == 0 ? act_min + draw(0, 2) : draw(0, 127));
        int8_t *clean = take(n), *errors = take(n), *expected = take(n);
        for (uint32_t i = 0; i < n; i++) {
            clean[i] = (int8_t)draw(-128, 127);
            const int64_t e8 = naive_e8(naive_sum(queries, states, count), total);
            expected[i] = (int8_t)(clean[i] > act_min && clean[i] < act_max ? e8 : 0);
        }
        const uint32_t first = (uint32_t)draw(0, (int32_t)n);
        node_errors_s8(clean, first, act_min, act_max, queries, count, shift, errors);
        node_errors_s8(clean + first, n - first, act_min, act_max, queries, count, shift, errors + first);
        check_s8(errors, expected, n, "node_errors_s8");
        free(clean);
        free(errors);
        free(expected);
    }
}

static void test_pack_channels(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t channels = (uint32_t)draw(1, 20), positions = (uint32_t)draw(1, 20);
        const uint32_t first = (uint32_t)draw(0, (int32_t)channels - 1),
                       count = (uint32_t)draw(1, (int32_t)(channels - first));
        int8_t *values = draw_s8(positions * channels, 127), *packed = take(positions * count);
        pack_channels_s8(values, positions, channels, first, count, packed);
        for (uint32_t i = 0; i < positions * count; i++) {
            const int8_t expected = values[i / count * channels + first + i % count];
            CHECK(packed[i] == expected, "pack_channels_s8, element %u: %d, not %d", i, packed[i], expected);
        }
        free(values);
        free(packed);
    }
}

static void test_gather_channels(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t channels = (uint32_t)draw(1, 20), positions = (uint32_t)draw(1, 20);
        uint16_t list[20];
        uint32_t count = 0;
        for (uint32_t c = 0; c < channels; c++) {
            list[count] = (uint16_t)c;
            count += draw(0, 1) == 1;
        }
        int8_t *values = draw_s8(positions * channels, 127), *packed = take(positions * count);
        gather_channels_s8(values, positions, channels, list, count, packed);
        for (uint32_t i = 0; i < positions * count; i++) {
            const int8_t expected = values[i / count * channels + list[i % count]];
            CHECK(packed[i] == expected, "gather_channels_s8, element %u: %d, not %d", i, packed[i], expected);
        }
        free(values);
        free(packed);
    }
}

/* Several samples of one layer, whose exponents rise and fall. */
static void test_accumulation(void) {
    enum { N = 40 };
    for (int round = 0; round < ROUNDS; round++) {
        int32_t gradient[N], sample[N], exponent = 99;
        int64_t expected[N], e = 0;
        memset(gradient, 0x33, sizeof gradient);
        const int32_t width = draw(1, 31);
        for (uint32_t b = 0; b < 8; b++) {
            const int32_t x = draw(0, 3) == 0 ? draw(-60, 60) : draw(-16, 4);
            if (b == 0) {
                memset(expected, 0, sizeof expected);
                e = x;
            } else if (x > e) {
                for (uint32_t i = 0; i < N; i++) {
                    expected[i] = naive_trunc(expected[i], x - e);
                }
                e = x;
            }
            for (uint32_t i = 0; i < N; i++) {
                sample[i] = draw(-(int32_t)((1u << width) - 1), (int32_t)((1u << width) - 1));
                expected[i] = naive_sat32(expected[i] + naive_trunc(sample[i], e - x));
            }
            const int32_t shift = align_gradient_s32(gradient, N, b == 0, x, &exponent);
            CHECK(exponent == e && shift == e - x, "exponent %d, not %lld; shift %d", exponent, (long long)e, shift);
            add_gradient_s32(gradient, sample, 17, shift);
            add_gradient_s32(gradient + 17, sample + 17, N - 17, shift);
            for (uint32_t i = 0; i < N; i++) {
                CHECK(gradient[i] == expected[i], "element %u: %d, not %lld", i, gradient[i], (long long)expected[i]);
            }
        }
    }
}

static void test_delta(void) {
    static const struct {
        float difference;
        int32_t delta;
    } cases[] = {
        {0.0f, 0},         {-0.0f, 0},
        {32.0f, 1 << 21},  {-32.0f, -(1 << 21)},
        {33.5f, 1 << 21},  {-1e30f, -(1 << 21)},
        {0x1p-17f, 0},     {0x1.000002p-17f, 1},
        {0x1.8p-16f, 2},   {0x1.4p-15f, 2},
        {0x1.cp-15f, 4},   {-0x1p-17f, 0},
        {-0x1.8p-16f, -2}, {0x1.fffffep4f, 1 << 21},
        {0x1p-149f, 0},    {0x1.921fb6p1f, 205887},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int32_t delta = loss_delta(cases[i].difference);
        CHECK(delta == cases[i].delta, "%a: %d, not %d", (double)cases[i].difference, delta, cases[i].delta);
    }
    for (int round = 0; round < 20000; round++) {
        const float difference = (float)ldexp(draw(-(1 << 24), 1 << 24), draw(-45, -18));
        const double held = fmin(fmax((double)difference, -32.0), 32.0);
        const int32_t delta = loss_delta(difference);
        CHECK(delta == (int32_t)nearbyint(held * 65536.0), "%a: %d", (double)difference, delta);
    }
}

void test_zeroth_order_gradients(void) {
    test_signed_sums();
    test_node_errors();
    test_pack_channels();
    test_gather_channels();
    test_accumulation();
    test_delta();
}
