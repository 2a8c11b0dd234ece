/* Directions of qzo-ff, and weights moved along them: docs/arithmetic-qzo-ff.md. */
#include "kernels/directions.h"

#include <stdbool.h>

#include "arith/integers.h"
#include "kernels/dsp.h"

const int8_t direction_gaussian[NOISE_ENTRIES] = {
    -92, -81, -75, -71, -67, -65, -63, -61, -59, -57, -56, -54, -53, -52, -51, -50, -49, -48, -47, -46, -45, -44,
    -43, -43, -42, -41, -40, -40, -39, -38, -38, -37, -37, -36, -35, -35, -34, -34, -33, -33, -32, -32, -31, -31,
    -30, -30, -29, -29, -28, -28, -27, -27, -26, -26, -25, -25, -25, -24, -24, -23, -23, -23, -22, -22, -21, -21,
    -21, -20, -20, -19, -19, -19, -18, -18, -18, -17, -17, -17, -16, -16, -15, -15, -15, -14, -14, -14, -13, -13,
    -13, -12, -12, -12, -11, -11, -11, -10, -10, -10, -9,  -9,  -9,  -8,  -8,  -8,  -7,  -7,  -7,  -6,  -6,  -6,
    -6,  -5,  -5,  -5,  -4,  -4,  -4,  -3,  -3,  -3,  -2,  -2,  -2,  -1,  -1,  -1,  0,   0,   0,   0,   1,   1,
    1,   2,   2,   2,   3,   3,   3,   4,   4,   4,   5,   5,   5,   6,   6,   6,   6,   7,   7,   7,   8,   8,
    8,   9,   9,   9,   10,  10,  10,  11,  11,  11,  12,  12,  12,  13,  13,  13,  14,  14,  14,  15,  15,  15,
    16,  16,  17,  17,  17,  18,  18,  18,  19,  19,  19,  20,  20,  21,  21,  21,  22,  22,  23,  23,  23,  24,
    24,  25,  25,  25,  26,  26,  27,  27,  28,  28,  29,  29,  30,  30,  31,  31,  32,  32,  33,  33,  34,  34,
    35,  35,  36,  37,  37,  38,  38,  39,  40,  40,  41,  42,  43,  43,  44,  45,  46,  47,  48,  49,  50,  51,
    52,  53,  54,  56,  57,  59,  61,  63,  65,  67,  71,  75,  81,  92};

const int8_t direction_binomial[NOISE_ENTRIES] = {
    -91, -68, -68, -45, -68, -45, -45, -23, -68, -45, -45, -23, -45, -23, -23, 0,   -68, -45, -45, -23, -45, -23,
    -23, 0,   -45, -23, -23, 0,   -23, 0,   0,   23,  -68, -45, -45, -23, -45, -23, -23, 0,   -45, -23, -23, 0,
    -23, 0,   0,   23,  -45, -23, -23, 0,   -23, 0,   0,   23,  -23, 0,   0,   23,  0,   23,  23,  45,  -68, -45,
    -45, -23, -45, -23, -23, 0,   -45, -23, -23, 0,   -23, 0,   0,   23,  -45, -23, -23, 0,   -23, 0,   0,   23,
    -23, 0,   0,   23,  0,   23,  23,  45,  -45, -23, -23, 0,   -23, 0,   0,   23,  -23, 0,   0,   23,  0,   23,
    23,  45,  -23, 0,   0,   23,  0,   23,  23,  45,  0,   23,  23,  45,  23,  45,  45,  68,  -68, -45, -45, -23,
    -45, -23, -23, 0,   -45, -23, -23, 0,   -23, 0,   0,   23,  -45, -23, -23, 0,   -23, 0,   0,   23,  -23, 0,
    0,   23,  0,   23,  23,  45,  -45, -23, -23, 0,   -23, 0,   0,   23,  -23, 0,   0,   23,  0,   23,  23,  45,
    -23, 0,   0,   23,  0,   23,  23,  45,  0,   23,  23,  45,  23,  45,  45,  68,  -45, -23, -23, 0,   -23, 0,
    0,   23,  -23, 0,   0,   23,  0,   23,  23,  45,  -23, 0,   0,   23,  0,   23,  23,  45,  0,   23,  23,  45,
    23,  45,  45,  68,  -23, 0,   0,   23,  0,   23,  23,  45,  0,   23,  23,  45,  23,  45,  45,  68,  0,   23,
    23,  45,  23,  45,  45,  68,  23,  45,  45,  68,  45,  68,  68,  91};

void direction_pool(int8_t pool[NOISE_ENTRIES][4], uint32_t state, const int8_t table[NOISE_ENTRIES]) {
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        state = xorshift32(state);
        for (uint32_t i = 0; i < 4; i++) {
            pool[e][i] = table[state >> (8 * i) & 0xFFu];
        }
    }
}

#if KERNELS_DSP

/* The form of the moves: how a sum is held. */
enum {
    FREE,   /* it is within the limit */
    HELD,   /* compared with the limit on both sides */
    SHIFTED /* by sums that saturate: all moves are higher by what the limit is below the largest int16 */
};

enum { LEAST_SHIFTED = 1 << 14 /* W: from -W to the least int16 is then no further than int16 goes */ };

static inline uint32_t both_lanes(int32_t value) {
    return low_lanes((uint32_t)value, (uint32_t)value);
}

static inline uint32_t two_moves(uint32_t bytes, const uint16_t *of) {
    return of[bytes & 0xFFu] | (uint32_t)of[bytes >> 8 & 0xFFu] << 16;
}

/* Make the moves, all of them higher by `raise`. */
static inline void fill(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], uint32_t raise) {
    const uint16_t *lanes_of = (const uint16_t *)(const void *)of;
    int8_t *plus = (int8_t *)moves->by, *minus = (int8_t *)(moves->by + NOISE_ENTRIES);
    for (const int8_t *const end = minus; plus != end;) {
        state = xorshift32(state);
        const uint32_t first = two_moves(state, lanes_of), second = two_moves(state >> 16, lanes_of);
        const uint32_t two[2] = {add_lanes_s16(raise, first), add_lanes_s16(raise, second)};
        const uint32_t opposite[2] = {subtract_lanes_s16(raise, first), subtract_lanes_s16(raise, second)};
        plus = put_two(plus, two);
        minus = put_two(minus, opposite);
    }
}

void direction_to_perturb(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES]) {
    moves->form = FREE;
    fill(moves, state, of, 0);
}

static int32_t largest_of(const int16_t of[NOISE_ENTRIES]) {
    int32_t largest = 0;
    for (uint32_t i = 0; i < NOISE_ENTRIES; i++) {
        largest = of[i] > largest ? of[i] : largest;
    }
    return largest;
}

void direction_to_update(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], int32_t limit) {
    const int32_t to_top = INT16_MAX - limit;
    const uint8_t shifted = limit >= LEAST_SHIFTED && largest_of(of) <= limit;
    moves->limit = limit;
    moves->form = shifted != 0 ? SHIFTED : HELD;
    fill(moves, state, of, shifted != 0 ? both_lanes(to_top) : 0);
}

/* In both lanes: the limits; and from the largest int16, which is W, down to where -W is the least, and back. */
typedef struct {
    uint32_t least, most;
    uint32_t to_bottom, back;
} held_t;

static held_t held_of(int32_t limit) {
    const int32_t to_top = INT16_MAX - limit, to_bottom = -limit - INT16_MIN;
    return (held_t){.least = both_lanes(-limit),
                    .most = both_lanes(limit),
                    .to_bottom = both_lanes(to_top + to_bottom),
                    .back = both_lanes(to_bottom)};
}

static inline uint32_t moved(uint32_t w, uint32_t by, uint32_t form, const held_t *held) {
    if (form == FREE) {
        return add_lanes_s16(w, by);
    }
    w = add_lanes_saturating(w, by);
    if (form == SHIFTED) {
        return add_lanes_s16(subtract_lanes_saturating(w, held->to_bottom), held->back);
    }
    w = where_lanes_at_least(w, held->most, held->most, w);
    return where_lanes_at_least(w, held->least, w, held->least);
}

static inline int8_t *move_four(int8_t *weights, uint32_t field, const int8_t *moves, uint32_t form,
                                const held_t *held) {
    uint32_t w[2], by[2];
    load_two(moves + 8 * field, by);
    load_two(weights, w);
    w[0] = moved(w[0], by[0], form, held);
    w[1] = moved(w[1], by[1], form, held);
    return put_two(weights, w);
}

/* Fewer than twelve weights, by one word of the stream. */
static inline void move_rest(int8_t *weights, uint32_t n, uint32_t word, const int8_t *moves, uint32_t form,
                             const held_t *held) {
    for (uint32_t j = 0; n > 0; j++) {
        const uint32_t taken = n < 4 ? n : 4;
        int8_t four[8] __attribute__((aligned(8))) = {0};
        memcpy(four, weights, 2 * taken);
        (void)move_four(four, noise_field(word, j), moves, form, held);
        memcpy(weights, four, 2 * taken);
        weights += 2 * taken;
        n -= taken;
    }
}

static inline void move_all(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves,
                            uint32_t form) {
    const held_t held = held_of(moves->limit);
    const int8_t *by = (const int8_t *)moves->by;
    int8_t *at = (int8_t *)weights;
    for (const int8_t *const end = at + n / 12 * 24; at != end;) {
        state = xorshift32(state);
        at = move_four(at, noise_field(state, 0), by, form, &held);
        at = move_four(at, noise_field(state, 1), by, form, &held);
        at = move_four(at, noise_field(state, 2), by, form, &held);
    }
    move_rest(at, n % 12, xorshift32(state), by, form, &held);
}

/* The form is known to the compiler from here on. */
void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves) {
    switch (moves->form) {
    case FREE: move_all(weights, n, state, moves, FREE); break;
    case SHIFTED: move_all(weights, n, state, moves, SHIFTED); break;
    default: move_all(weights, n, state, moves, HELD); break;
    }
}

#else

void direction_to_update(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], int32_t limit) {
    moves->limit = limit;
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        state = xorshift32(state);
        for (uint32_t i = 0; i < 4; i++) {
            const int16_t by = of[state >> (8 * i) & 0xFFu];
            moves->by[e][i] = by;
            moves->by[e + NOISE_ENTRIES][i] = (int16_t)-by;
        }
    }
}

void direction_to_perturb(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES]) {
    direction_to_update(moves, state, of, INT16_MAX);
}

static inline void move_one(int16_t *weight, int16_t by, int32_t limit, bool held) {
    const int32_t sum = *weight + by;
    *weight = (int16_t)(held ? clip(sum, limit) : sum);
}

static inline int16_t *move_four(int16_t *weights, const int16_t *by, int32_t limit, bool held) {
    move_one(weights, by[0], limit, held);
    move_one(weights + 1, by[1], limit, held);
    move_one(weights + 2, by[2], limit, held);
    move_one(weights + 3, by[3], limit, held);
    return weights + 4;
}

/* Twelve weights by a word of the stream; of the last twelve, those that there are. */
static inline void move_all(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves, bool held) {
    const int32_t limit = moves->limit;
    const int16_t (*by)[4] = (const void *)moves->by;
    for (const int16_t *const end = weights + n / 12 * 12; weights != end;) {
        state = xorshift32(state);
        weights = move_four(weights, by[noise_field(state, 0)], limit, held);
        weights = move_four(weights, by[noise_field(state, 1)], limit, held);
        weights = move_four(weights, by[noise_field(state, 2)], limit, held);
    }
    state = xorshift32(state);
    for (uint32_t i = 0; i < n % 12; i++) {
        move_one(weights + i, by[noise_field(state, i / 4)][i % 4], limit, held);
    }
}

void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves) {
    if (moves->limit < INT16_MAX) {
        move_all(weights, n, state, moves, true);
    } else {
        move_all(weights, n, state, moves, false);
    }
}

#endif
