/* Weights moved by numbers of the pool of noise on Armv6-M: docs/arithmetic.md, sections 8 and 9. */
#include "kernels/perturbation.h"

#include <stdbool.h>
#include <stddef.h>

#include "arith/clip127.h"
#include "kernels/core.h"
#include "kernels/move_groups_m0.h"
#include "kernels/noise.h"

#if KERNELS_THUMB1

/* How the weights are moved: by a loop of move_groups_m0.h (TWICE: `within`, and once more), or one at a time by
   words[2 f], the first move, then by words[2 f + 1]. */
enum { FREE, WITHIN, TWICE, APART, SINGLY };

enum { BYTES = 256 };

/* The two moves of a pass by z. */
typedef struct {
    int32_t first, second;     /* times z */
    const zo_update_t *update; /* instead of the second; or NULL */
    bool back;                 /* the second goes the other way */
} pass_t;

/* Bytes of words[2 f], of the same with the other sign drawn, and of words[2 f + 1], from the lowest up, for every byte
   of B: there are far fewer of them than numbers in the pool. */
typedef struct {
    uint32_t of[BYTES];
} bytes_t;

/* A byte of words[2 f]: the tested move saturates where the weight has to stop. */
static int32_t tested(const moves_t *moves, const pass_t *pass, int32_t first, int32_t second) {
    const int32_t both = first + second, furthest = pass->back ? first : both, limit = moves->limit;
    if (moves->form == SINGLY) {
        return first;
    }
    if (limit == 127) { /* bytes saturate at -128 */
        return furthest < 0 ? furthest - 1 : furthest;
    }
    if (second == 0) { /* at rest again */
        return pass->back ? 0 : both;
    }
    return second > 0 ? both + 127 - limit : both - (128 - limit);
}

static uint32_t bytes_of(const moves_t *moves, const pass_t *pass, int32_t z) {
    const int32_t first = pass->first * z,
                  second = pass->update != NULL ? zo_update_of(pass->update, z) : pass->second * z;
    const int32_t test = tested(moves, pass, first, second), opposite = tested(moves, pass, -first, -second);
    const int32_t other = moves->form == SINGLY ? second : first + second;
    return (uint32_t)(test & 0xFF) | (uint32_t)(opposite & 0xFF) << 8 | (uint32_t)other << 16;
}

static void fill_bytes(bytes_t *bytes, const moves_t *moves, const pass_t *pass, int32_t r_max) {
    int32_t above = r_max; /* B_i (2 r_max + 1) + r_max */
    for (uint32_t *of = bytes->of; of != bytes->of + BYTES;) {
        const int32_t z_above = above >> 8;
        const uint32_t same = bytes_of(moves, pass, z_above - r_max);
        do {
            *of++ = same;
            above += 2 * r_max + 1;
        } while (above >> 8 == z_above);
    }
}

SEPARATE static void fill_words(const moves_t *moves, noise_t noise, const bytes_t *bytes) {
    const uint32_t p_zero = (uint32_t)noise.p_zero << 24;
    for (uint32_t e = 0; e < NOISE_ENTRIES; e++) {
        const noise_words_t drawn = noise_next(&noise);
        uint32_t a = drawn.a, b = drawn.b, number = 0;
        for (uint32_t i = 0; i < 4; i++, a <<= 8, b <<= 8) { /* from the highest byte down */
            number <<= 8;
            if (a >= p_zero) {
                number += (uint32_t)((int32_t)bytes->of[b >> 24] >> 16);
            }
        }
        moves->words[e] = number;
        moves->words[e + NOISE_ENTRIES] = 0u - number;
    }
}

SEPARATE static void fill_pairs(const moves_t *moves, noise_t noise, const bytes_t *bytes) {
    const uint32_t p_zero = (uint32_t)noise.p_zero << 24;
    for (uint32_t *pair = moves->words; pair != moves->words + NOISE_FIELDS; pair += 2) {
        const noise_words_t drawn = noise_next(&noise);
        uint32_t a = drawn.a, b = drawn.b, test = 0, opposite = 0, other = 0;
        for (uint32_t i = 0; i < 4; i++, a <<= 8, b <<= 8) {
            test <<= 8;
            opposite <<= 8;
            other <<= 8;
            if (a >= p_zero) {
                const uint32_t of = bytes->of[b >> 24];
                const int32_t tested_byte = (int8_t)(of & 0xFFu), opposite_byte = (int8_t)(of >> 8 & 0xFFu);
                test += (uint32_t)tested_byte;
                opposite += (uint32_t)opposite_byte;
                other += (uint32_t)((int32_t)of >> 16);
            }
        }
        pair[0] = test;
        pair[1] = other;
        pair[NOISE_FIELDS] = opposite;
        pair[NOISE_FIELDS + 1] = 0u - other;
    }
}

static void fill(const moves_t *moves, const pass_t *pass, noise_t noise) {
    bytes_t bytes;
    fill_bytes(&bytes, moves, pass, noise.r_max);
    if (moves->form == FREE) {
        fill_words(moves, noise, &bytes);
    } else {
        fill_pairs(moves, noise, &bytes);
    }
}

void moves_to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit) {
    const bool twice = k != 1 && 2 * noise.r_max >= 127 && noise.r_max < 127;
    const pass_t pass = {.first = k == 1 ? 1 : -1, .second = k == 1 || twice ? 0 : -1};
    moves->limit = limit;
    moves->form = limit < 127 ? FREE : noise.r_max == 127 ? SINGLY : twice ? TWICE : WITHIN;
    fill(moves, &pass, noise);
}

/* The form of an update of up to `largest`, such that the tested moves fit a byte. */
static uint8_t form_of_update(int32_t r_max, int32_t sign, int32_t largest, int32_t limit) {
    const int32_t furthest = (sign > 0 ? r_max : r_max + largest) + 128 - limit;
    if (limit < 127 && sign >= 0) {
        return sign == 0 ? FREE : APART;
    }
    return furthest < 128 ? WITHIN : SINGLY;
}

void moves_to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit) {
    zo_update_t update;
    const pass_t pass = {.first = 1, .update = &update, .back = sign > 0};
    zo_update_fill(&update, noise.r_max, sign, b_zo);
    moves->limit = limit;
    moves->form = form_of_update(noise.r_max, sign, update.largest, limit);
    fill(moves, &pass, noise);
}

/* The lowest byte of a number, which then stands for the others. */
static inline int32_t take_byte(uint32_t *number) {
    const int32_t byte = (int8_t)(*number & 0xFFu);
    *number = (*number - (uint32_t)byte) >> 8;
    return byte;
}

/* The loops' way, for what they leave. */
static void move_tested(int8_t *weights, uint32_t n, uint32_t test, uint32_t move) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t t = take_byte(&test), m = take_byte(&move), sum = weights[i] + t;
        weights[i] = (int8_t)((sum > 127 ? 127 : sum < -128 ? -128 : sum) + (m - t));
    }
}

static void move_singly(int8_t *weights, uint32_t n, uint32_t first, uint32_t second, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t w = clip(weights[i] + take_byte(&first), limit);
        weights[i] = (int8_t)clip(w + take_byte(&second), limit);
    }
}

static inline void move_group(int8_t *weights, uint32_t n, uint32_t field, const moves_t *moves) {
    const uint32_t *pair = moves->words + 2 * field;
    if (moves->form == SINGLY) {
        move_singly(weights, n, pair[0], pair[1], moves->limit);
    } else if (moves->form == FREE) {
        move_tested(weights, n, moves->words[field], moves->words[field]);
    } else {
        move_tested(weights, n, pair[0], pair[1]);
    }
}

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* As many weights as the loops take, fewer than 24 being left; returns the state after them. */
static uint32_t move_most(int8_t *weights, const int8_t *end, uint32_t state, const moves_t *moves) {
    switch (moves->form) {
    case FREE: return move_groups_free(weights, end, moves->words, state);
    case APART: return move_groups_apart(weights, end, moves->words, state);
    default: return move_groups_within(weights, end, moves->words, state);
    }
}

#define LOOPS_FOR(form) ((form) != SINGLY)

#else

static uint32_t move_most(int8_t *weights, const int8_t *end, uint32_t state, const moves_t *moves) {
    (void)weights, (void)end, (void)moves;
    return state;
}

#define LOOPS_FOR(form) false

#endif

static void move_once(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
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

void move_s8(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves) {
    move_once(weights, n, state, moves);
    if (moves->form == TWICE) {
        move_once(weights, n, state, moves);
    }
}

#endif
