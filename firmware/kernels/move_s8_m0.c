#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <stdbool.h>

#include "arith/clip127.h"
#include "kernels/move_groups_m0.h"
#include "kernels/move_s8.h"
#include "kernels/noise4.h"
#include "kernels/zo_update.h"

/* How the weights are moved, and what the words of a field hold. */
enum {
    FREE,    /* move_groups_free: both moves in one */
    CLIPPED, /* move_groups_clipped: the furthest that the moves go, less one where that is down; both in one */
    HELD,    /* move_groups_held: both in one, with how far the limit is from where bytes saturate; both in one */
    BYTES,   /* one by one: bytes of the first move, and in the second half of the words of the second */
};

#define ONES 0x01010101u
#define SIGNS 0x80808080u

/* Four bytes but -128, the number that they stand for, and ones where they are negative and positive. */
typedef struct {
    uint32_t bytes, number, negative, positive;
} four_t;

static inline four_t four_of(uint32_t bytes) {
    const uint32_t negative = bytes >> 7 & ONES, nonzero = (((bytes & ~SIGNS) + ~SIGNS) | bytes) >> 7 & ONES;
    return (four_t){bytes, bytes - (negative << 8), negative, nonzero - negative};
}

static inline four_t opposite(four_t four) {
    const uint32_t bytes = (SIGNS - (four.bytes & ~SIGNS)) ^ (~four.bytes & SIGNS);
    return (four_t){bytes, 0u - four.number, four.positive, four.negative};
}

/* The tested move: the first with so many times the second, and what it is further up or down, by the direction of the second, or
   lower where the first is negative. */
typedef struct {
    uint32_t second, up, down, lower;
} test_t;

static test_t test_of(const moves_t *moves, bool back) {
    if (moves->form == HELD) { /* W + 127 - W and -W - (128 - W) are the last that do not saturate */
        return (test_t){.second = 1, .up = 127u - moves->limit, .down = 128u - moves->limit};
    }
    return (test_t){.second = back ? 0 : 1, .lower = 1};
}

static inline void put_moves(const moves_t *moves, const test_t *test, uint32_t field, four_t first, four_t second) {
    uint32_t *const words = moves->words;
    if (moves->form == FREE) {
        words[field] = first.number + second.number;
    } else if (moves->form == BYTES) {
        words[field] = first.bytes;
        words[field + NOISE_FIELDS] = second.bytes;
    } else {
        words[2 * field] = first.number + test->second * second.number + test->up * second.positive - test->down * second.negative -
                           test->lower * first.negative;
        words[2 * field + 1] = first.number + second.number;
    }
}

/* The moves of an entry, and the opposite ones, which those who draw the other sign take. */
static inline void put_both(const moves_t *moves, const test_t *test, uint32_t entry, four_t first, four_t second) {
    put_moves(moves, test, entry, first, second);
    put_moves(moves, test, entry + NOISE_ENTRIES, opposite(first), opposite(second));
}

void moves_to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit) {
    const bool fits = (k == 1 ? 1 : 2) * noise.r_max < 127;
    const noise4_t same = noise4_begin(&noise);
    moves->limit = limit;
    moves->form = limit < 127 ? FREE : fits ? CLIPPED : BYTES;
    const test_t test = test_of(moves, false);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const four_t z = four_of(noise4_next(&same, &noise));
        if (k == 1) {
            put_both(moves, &test, e, z, (four_t){0, 0, 0, 0});
        } else {
            put_both(moves, &test, e, opposite(z), opposite(z));
        }
    }
}

/* The form of an update of up to `largest`, such that a tested move fits a byte. */
static uint8_t form_of_update(uint32_t r_max, int32_t sign, uint32_t largest, uint8_t limit) {
    if (limit < 127 && sign == 0) {
        return FREE;
    }
    const uint32_t furthest = (sign > 0 ? r_max : r_max + largest) + (limit < 127 ? 128u - limit : 0);
    return furthest < 127 ? (limit < 127 ? HELD : CLIPPED) : BYTES;
}

void moves_to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit) {
    const noise4_t same = noise4_begin(&noise);
    zo_update_t update;
    zo_update_fill(&update, noise.r_max, sign, b_zo);
    moves->limit = limit;
    moves->form = form_of_update(noise.r_max, sign, (uint32_t)update.largest, limit);
    const test_t test = test_of(moves, sign > 0);
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const uint32_t z = noise4_next(&same, &noise);
        put_both(moves, &test, e, four_of(z), four_of(zo_update_of_four(&update, z)));
    }
}

/* The lowest byte of a number, which then stands for the others. */
static int32_t take_byte(uint32_t *number) {
    const int32_t byte = (int8_t)(*number & 0xFFu);
    *number = (*number - (uint32_t)byte) >> 8;
    return byte;
}

static int32_t moved_by_pair(int32_t w, int32_t test, int32_t sum, const moves_t *moves) {
    if (moves->form == HELD) {
        return clip(w + sum, moves->limit);
    }
    const int32_t furthest = test < 0 ? test + 1 : test;
    return clip127(w + furthest) + (sum - furthest);
}

static void move_group(int8_t *weights, uint32_t n, uint32_t field, const moves_t *moves) {
    const uint32_t *words = moves->words;
    const bool pair = moves->form == CLIPPED || moves->form == HELD;
    uint32_t first = words[pair ? 2 * field : field];
    uint32_t second = pair ? words[2 * field + 1] : moves->form == BYTES ? words[field + NOISE_FIELDS] : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (pair) {
            const int32_t test = take_byte(&first);
            weights[i] = (int8_t)moved_by_pair(weights[i], test, take_byte(&second), moves);
        } else if (moves->form == FREE) {
            weights[i] = (int8_t)(weights[i] + take_byte(&first));
        } else {
            const int32_t w = clip(weights[i] + (int8_t)(first >> (8 * i) & 0xFFu), moves->limit);
            weights[i] = (int8_t)clip(w + (int8_t)(second >> (8 * i) & 0xFFu), moves->limit);
        }
    }
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* As many weights as the loops take, fewer than 24 being left; returns the state behind them. */
static uint32_t move_most(int8_t *weights, const int8_t *end, uint32_t state, const moves_t *moves) {
    switch (moves->form) {
    case FREE:
        return move_groups_free(weights, end, moves->words, state);
    case CLIPPED:
        return move_groups_clipped(weights, end, moves->words, state);
    default:
        return move_groups_held(weights, end, moves->words, state);
    }
}

#define LOOPS_FOR(form) ((form) != BYTES)

#else

static uint32_t move_most(int8_t *weights, const int8_t *end, uint32_t state, const moves_t *moves) {
    (void)weights, (void)end, (void)moves;
    return state;
}

#define LOOPS_FOR(form) false

#endif

void move_s8(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
    const uint32_t most = LOOPS_FOR(moves->form) ? n / MOVE_GROUPS_WEIGHTS * MOVE_GROUPS_WEIGHTS : 0;
    if (most > 0) {
        state = move_most(weights, weights + most, state, moves);
        weights += most;
        n -= most;
    }
    while (n > 0) {
        state = xorshift32(state);
        for (uint32_t j = 0; j < NOISE_GROUPS && n > 0; j++) {
            const uint32_t taken = n < 4 ? n : 4;
            move_group(weights, taken, noise_field(state, j), moves);
            weights += taken;
            n -= taken;
        }
    }
}

#endif
