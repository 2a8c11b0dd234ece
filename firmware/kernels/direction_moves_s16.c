#include "kernels/dsp.h"

#if !KERNELS_DSP /* else direction_moves_s16_dsp.c */

#include <stdbool.h>

#include "arith/clip127.h"
#include "kernels/directions.h"

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
