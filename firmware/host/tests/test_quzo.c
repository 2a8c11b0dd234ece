/* The kernels of QuZO: against its definition weight by weight, and what they are for: roundings without bias, and the
   way back. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "kernels/stochastic.h"
#include "quzo_bench.h"

enum { MOST = 100, UNITS = 24, DIRECTIONS = 3 };

/* A tensor with E of its own, of either type. */
typedef struct {
    stochastic_weights_t weights;
    int8_t s8[MOST];
    int16_t s16[MOST];
    int32_t scales[UNITS];
    naive_draw_t place;
    int8_t pool[NOISE_ENTRIES][4];
} drawn_t;

static int32_t get(const drawn_t *drawn, uint32_t i) {
    return drawn->weights.s16 != NULL ? drawn->s16[i] : drawn->s8[i];
}

static int32_t scale_of(const drawn_t *drawn, uint32_t i) {
    return drawn->scales[i / drawn->weights.run % drawn->weights.units];
}

/* Units one after the other, or in turn; E up to half of the range. */
static void draw_tensor(drawn_t *drawn, bool wide) {
    const bool in_turn = draw(0, 1);
    const uint32_t units = (uint32_t)draw(1, UNITS), run = in_turn ? 1 : (uint32_t)draw(1, (int32_t)(MOST / units));
    const uint32_t times = in_turn ? (uint32_t)draw(1, (int32_t)(MOST / units)) : 1;
    drawn->weights = (stochastic_weights_t){.s8 = wide ? NULL : drawn->s8,
                                            .s16 = wide ? drawn->s16 : NULL,
                                            .n = units * run * times,
                                            .run = run,
                                            .units = units,
                                            .largest = wide ? 32767 : 127,
                                            .scales = drawn->scales};
    drawn->place = (naive_draw_t){
        .seed = (uint32_t)draw(0, 1 << 30), .step = (uint32_t)draw(0, 1 << 20), .tensor = (uint32_t)draw(0, 63)};
    direction_pool(drawn->pool, pool_state(drawn->place.seed, drawn->place.step), direction_gaussian);
    for (uint32_t i = 0; i < units; i++) {
        drawn->scales[i] = draw(0, 3) == 0 ? draw(0, 3) : draw(0, wide ? STOCHASTIC_LARGEST / 2 : 44877);
    }
    for (uint32_t i = 0; i < drawn->weights.n; i++) {
        const int32_t limit = naive_limit(scale_of(drawn, i), drawn->weights.largest);
        const int32_t value = draw(0, 9) == 0 ? (draw(0, 1) ? limit : -limit) : draw(-limit, limit);
        drawn->s8[i] = (int8_t)value;
        drawn->s16[i] = (int16_t)value;
    }
}

static stochastic_streams_t streams_of(const drawn_t *drawn, uint32_t direction) {
    return stochastic_streams(drawn->place.seed, drawn->place.step, direction, drawn->place.tensor);
}

static void move(drawn_t *drawn, uint32_t direction, int32_t k) {
    stochastic_move(&drawn->weights, (const void *)drawn->pool, streams_of(drawn, direction), k);
}

/* w + u and w - u are those of the definition, stay in -X..X, and come back. */
static void test_moves(bool wide) {
    drawn_t drawn;
    draw_tensor(&drawn, wide);
    const drawn_t rest = drawn;
    const uint32_t direction = (uint32_t)draw(0, 126);
    naive_draw_t place = drawn.place;
    place.direction = direction;
    for (int32_t sign = 1; sign >= -1; sign -= 2) {
        move(&drawn, direction, sign > 0 ? 1 : -2);
        for (uint32_t i = 0; i < drawn.weights.n; i++) {
            const int32_t expected = get(&rest, i) + sign * naive_u(place, i, scale_of(&rest, i));
            CHECK(get(&drawn, i) == expected, "weight %u of %u: %d, not %d", i, drawn.weights.n, get(&drawn, i),
                  expected);
            CHECK(abs(expected) <= drawn.weights.largest, "beyond X: %d", expected);
        }
    }
    move(&drawn, direction, 1);
    CHECK(memcmp(drawn.s8, rest.s8, sizeof rest.s8) == 0 && memcmp(drawn.s16, rest.s16, sizeof rest.s16) == 0,
          "the weights are not restored");
}

/* From w - u of the last direction to the weights after the step. */
static void test_update(bool wide) {
    drawn_t drawn;
    stochastic_streams_t streams[DIRECTIONS];
    int32_t factors[DIRECTIONS];
    draw_tensor(&drawn, wide);
    const drawn_t rest = drawn;
    const uint32_t count = (uint32_t)draw(1, DIRECTIONS);
    const int32_t bound = draw(0, 2) == 0 ? 1 << 30 : draw(0, 1) ? 1 << 17 : 1 << 10;
    for (uint32_t d = 0; d < count; d++) {
        streams[d] = streams_of(&drawn, d);
        factors[d] = draw(-bound, bound);
    }
    move(&drawn, count - 1, -1);
    stochastic_update(&drawn.weights, (const void *)drawn.pool, streams, factors, count,
                      stochastic_update_state(drawn.place.seed, drawn.place.step, drawn.place.tensor));
    for (uint32_t i = 0; i < drawn.weights.n; i++) {
        const int32_t scale = scale_of(&rest, i), limit = naive_limit(scale, rest.weights.largest);
        int64_t sum = naive_r(rest.place, i);
        for (uint32_t d = 0; d < count; d++) {
            naive_draw_t place = rest.place;
            place.direction = d;
            sum += (int64_t)factors[d] * naive_v(place, i, scale);
        }
        const double moved = get(&rest, i) - fmax(fmin((double)naive_floor(sum), 0x1p30), -0x1p30);
        const double expected = fmax(fmin(moved, limit), -limit);
        CHECK(get(&drawn, i) == (int32_t)expected, "weight %u: %d, not %f", i, get(&drawn, i), expected);
    }
}

/* Weights beyond W are clipped to it, by unit; others stay. */
static void test_limit(bool wide) {
    drawn_t drawn;
    draw_tensor(&drawn, wide);
    for (uint32_t i = 0; i < drawn.weights.n; i++) {
        drawn.s8[i] = (int8_t)draw(-127, 127);
        drawn.s16[i] = (int16_t)draw(-32767, 32767);
    }
    const drawn_t before = drawn;
    stochastic_limit(&drawn.weights);
    for (uint32_t i = 0; i < drawn.weights.n; i++) {
        const int32_t limit = naive_limit(scale_of(&before, i), before.weights.largest), w = get(&before, i);
        const int32_t expected = w > limit ? limit : w < -limit ? -limit : w;
        CHECK(get(&drawn, i) == expected, "weight %u: %d, not %d", i, get(&drawn, i), expected);
    }
}

/* Over many states the mean of u, and of v, is epsilon * z / 32 / unit, though most of them are 0; both round by
   themselves; and the mean of a move is C * v, though it is a tenth of a step. Each bound is five deviations. */
static void test_means(int32_t scale, int32_t factor) {
    enum { STATES = 3000 };
    double u_off = 0, v_off = 0, product = 0, moves_off = 0;
    uint32_t draws = 0;
    for (uint32_t state = 0; state < STATES; state++) {
        int16_t along[MOST] = {0}, against[MOST] = {0}, moved[MOST] = {0};
        int8_t pool[NOISE_ENTRIES][4];
        stochastic_weights_t weights = {
            .s16 = along, .n = MOST, .run = MOST, .units = 1, .largest = 32767, .scales = &scale};
        const stochastic_streams_t streams = stochastic_streams(7, state, 0, 0);
        const uint32_t rounds = stochastic_update_state(7, state, 0);
        const int32_t one = 1 << 16;
        stochastic_streams_t used = streams;
        direction_pool(pool, pool_state(7, state), direction_gaussian);
        stochastic_move(&weights, (const void *)pool, streams, 1);
        weights.s16 = against; /* with C of one, w - v */
        stochastic_move(&weights, (const void *)pool, streams, -1);
        stochastic_update(&weights, (const void *)pool, &used, &one, 1, rounds);
        used = streams;
        weights.s16 = moved;
        stochastic_move(&weights, (const void *)pool, streams, -1);
        stochastic_update(&weights, (const void *)pool, &used, &factor, 1, rounds);
        for (uint32_t i = 0; i < MOST; i += 11, draws++) {
            const naive_draw_t place = {.seed = 7, .step = state};
            const double exact = (double)scale * naive_z(place, i) / 65536, u = along[i], v = -against[i];
            u_off += u - exact;
            v_off += v - exact;
            product += (u - exact) * (v - exact);
            moves_off += -moved[i] - factor * v / 65536;
        }
    }
    const double deviation = 5 * 0.5 * sqrt(draws);
    CHECK(fabs(u_off) < deviation && fabs(v_off) < deviation, "E %d: u is off by %f, v by %f", scale, u_off, v_off);
    CHECK(fabs(product) < deviation / 2, "E %d: u and v are correlated: %f", scale, product);
    CHECK(fabs(moves_off) < deviation, "C %d: moves are off by %f", factor, moves_off);
}

void test_quzo(void) {
    for (uint32_t round = 0; round < 60; round++) {
        test_moves(round % 2 == 0);
        test_update(round % 2 == 0);
        test_limit(round % 2 == 0);
    }
    test_means(163, 6554);   /* 0.08 steps of a weight for z / 32 = 1 */
    test_means(14000, 6554); /* 6.8 */
}
