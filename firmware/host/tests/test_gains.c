/* Gains of channels and the factors that they make: against their definition, channel by channel. */
#include "kernels/gains.h"

#include <string.h>

#include "arith/float32.h"
#include "check.h"
#include "quzo_bench.h"

enum { MOST = 40, ROUNDS = 3000, LARGEST_E = 1 << 14 };

typedef struct {
    gains_t gains;
    int32_t gain[MOST], multiplier[MOST], made_multiplier[MOST];
    int8_t shift[MOST], made_shift[MOST];
    naive_draw_t place;
    int8_t pool[NOISE_ENTRIES][4];
    gain_moves_t moves;
} drawn_t;

/* Gains in least..most, which are often at one of these. */
static int32_t draw_gain(int32_t least, int32_t most) {
    return draw(0, 5) == 0 ? (draw(0, 1) ? least : most) : draw(least, most);
}

static void draw_gains(drawn_t *drawn) {
    drawn->gains = (gains_t){.gain = drawn->gain,
                             .multiplier = drawn->multiplier,
                             .shift = drawn->shift,
                             .made_multiplier = drawn->made_multiplier,
                             .made_shift = drawn->made_shift,
                             .n = (uint32_t)draw(1, MOST)};
    drawn->place = (naive_draw_t){
        .seed = (uint32_t)draw(0, 1 << 30), .step = (uint32_t)draw(0, 1 << 20), .tensor = (uint32_t)draw(0, 63)};
    direction_pool(drawn->pool, pool_state(drawn->place.seed, drawn->place.step), direction_gaussian);
    drawn->moves = (gain_moves_t){
        .pool = (const void *)drawn->pool,
        .state = direction_state(drawn->place.seed, drawn->place.step, 0, drawn->place.tensor),
        .scale = draw(0, 3) == 0 ? LARGEST_E : draw(2, LARGEST_E),
    };
    const int32_t reach = 92 * drawn->moves.scale;
    for (uint32_t c = 0; c < MOST; c++) {
        drawn->gain[c] = draw_gain(GAIN_LEAST + reach, GAIN_MOST - reach);
        drawn->multiplier[c] = draw(0, 4) == 0 ? (draw(0, 1) ? 1 << 30 : INT32_MAX) : draw(1 << 30, INT32_MAX);
        drawn->shift[c] = (int8_t)draw(-29, 27);
    }
}

static void check_factor(const drawn_t *drawn, uint32_t c, int64_t gain) {
    const naive_scaled_t scaled = naive_scaled(drawn->multiplier[c], drawn->shift[c], gain);
    CHECK(drawn->made_multiplier[c] == scaled.multiplier && drawn->made_shift[c] == scaled.shift,
          "M %d, shift %d, gain %lld: %d, %d, not %lld, %lld", drawn->multiplier[c], drawn->shift[c], (long long)gain,
          drawn->made_multiplier[c], drawn->made_shift[c], (long long)scaled.multiplier, (long long)scaled.shift);
    CHECK(scaled.multiplier >= 1 << 30 && scaled.shift >= -31 && scaled.shift <= 30, "outside of what a layer takes");
}

/* Factors of gains at rest, and moved to both sides; the gains stay. */
static void test_factors(void) {
    drawn_t drawn;
    draw_gains(&drawn);
    const drawn_t before = drawn;
    for (int32_t k = -1; k <= 1; k++) {
        if (k == 0) {
            gains_make(&drawn.gains);
        } else {
            gains_make_moved(&drawn.gains, &drawn.moves, k);
        }
        for (uint32_t c = 0; c < drawn.gains.n; c++) {
            const int64_t move = k * (int64_t)drawn.moves.scale * naive_z(drawn.place, c);
            check_factor(&drawn, c, drawn.gain[c] + move);
        }
    }
    CHECK(memcmp(drawn.gain, before.gain, sizeof before.gain) == 0, "a gain moved");
}

/* A gain of 2^24 changes nothing; other powers of two change the shift. */
static void test_powers_of_two(void) {
    drawn_t drawn;
    draw_gains(&drawn);
    for (int32_t power = -2; power <= 2; power++) {
        for (uint32_t c = 0; c < drawn.gains.n; c++) {
            drawn.gain[c] = 1 << (24 + power);
        }
        gains_make(&drawn.gains);
        for (uint32_t c = 0; c < drawn.gains.n; c++) {
            CHECK(drawn.made_multiplier[c] == drawn.multiplier[c] && drawn.made_shift[c] == drawn.shift[c] + power,
                  "2^%d", power);
        }
    }
}

static void test_limit(void) {
    drawn_t drawn;
    draw_gains(&drawn);
    for (uint32_t c = 0; c < drawn.gains.n; c++) {
        drawn.gain[c] = draw_gain(GAIN_LEAST, GAIN_MOST);
    }
    const drawn_t before = drawn;
    gains_limit(&drawn.gains, drawn.moves.scale);
    for (uint32_t c = 0; c < drawn.gains.n; c++) {
        CHECK(drawn.gain[c] == naive_held_gain(before.gain[c], drawn.moves.scale), "gain %u: %d", c, drawn.gain[c]);
    }
}

/* C up to what a step may give. */
static void test_update(void) {
    drawn_t drawn;
    draw_gains(&drawn);
    const drawn_t before = drawn;
    const int32_t left = draw(0, 40);
    const int64_t upper = draw(-(1 << 20), 1 << 20), factor = left < 21 ? upper * (INT64_C(1) << left) : upper / 64;
    gains_update(&drawn.gains, &drawn.moves, factor);
    for (uint32_t c = 0; c < drawn.gains.n; c++) {
        const int64_t move = naive_gain_move(factor, naive_z(drawn.place, c));
        const int64_t expected = naive_held_gain(before.gain[c] - move, drawn.moves.scale);
        CHECK(drawn.gain[c] == expected, "gain %u: %d, not %lld", c, drawn.gain[c], (long long)expected);
    }
}

/* Half to even below 2^23, exact above. */
static void test_integers(void) {
    static const struct {
        float x;
        int64_t whole;
    } rows[] = {{0.0f, 0},
                {0.5f, 0},
                {1.5f, 2},
                {-2.5f, -2},
                {-3.5f, -4},
                {0x1.fffffep22f, INT64_C(1) << 23},
                {-0x1.000002p23f, -8388609},
                {0x1.fffffep23f, 16777215},
                {0x1p24f, INT64_C(1) << 24},
                {0x1p41f, INT64_C(1) << 41},
                {-0x1.fffffep40f, -((INT64_C(1) << 41) - (INT64_C(1) << 17))}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(float32_to_s64(rows[i].x) == rows[i].whole, "%a", (double)rows[i].x);
    }
}

void test_gains(void) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        test_factors();
        test_powers_of_two();
        test_limit();
        test_update();
    }
    test_integers();
}
