/* The directions of QZO-FF and of QuZO: docs/arithmetic-qzo-ff.md, section 3. Groups of four elements draw from the pool as in
   noise.h. */
#pragma once

#include "kernels/noise.h"

enum {
    STREAMS_OF_STEP = 256,              /* from a direction to the next */
    DIRECTION_BLOCK = 4 * NOISE_GROUPS, /* elements that a word of a stream draws for */
    DIRECTION_LARGEST_Z = 92,           /* |z| of direction_gaussian */
};

/* The state with which the stream of z of a direction in a trained tensor begins. */
static inline uint32_t direction_state(uint32_t seed, uint32_t step, uint32_t direction, uint32_t tensor) {
    return stream_start(seed, step, STREAMS_OF_STEP * direction + tensor + 1u);
}

/* z by a random byte, T: T[255 - i] = -T[i]. */
extern const int8_t direction_gaussian[NOISE_ENTRIES], direction_binomial[NOISE_ENTRIES];

/* The pool of a step, whose generator begins with `state`. */
void direction_pool(int8_t pool[NOISE_ENTRIES][4], uint32_t state, const int8_t table[NOISE_ENTRIES]);

/* The next z of a stream. */
static inline void direction_next(const int8_t (*pool)[4], uint32_t *state, int32_t z[DIRECTION_BLOCK]) {
    *state = xorshift32(*state);
    for (uint32_t j = 0; j < NOISE_GROUPS; j++) {
        const uint32_t field = noise_field(*state, j);
        const int8_t *entry = pool[field % NOISE_ENTRIES];
        for (uint32_t i = 0; i < 4; i++) {
            z[4 * j + i] = field < NOISE_ENTRIES ? entry[i] : -entry[i];
        }
    }
}

/* The pool with what a pass makes of each z of a tensor, and of -z behind it. */
typedef struct {
    int16_t (*by)[4]; /* NOISE_FIELDS of the caller's, aligned to 8 bytes, until the pass is over */
    uint8_t form;     /* what is in them, which differs by core */
    int32_t limit;    /* W, of an update */
} direction_moves_t;

/* Make the moves of a perturbation, or of an update, whose results are held in -limit..limit. `of` has them by the byte
   that draws z, and is as odd as T; `state` is that of the pool. */
void direction_to_perturb(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES]);
void direction_to_update(direction_moves_t *moves, uint32_t state, const int16_t of[NOISE_ENTRIES], int32_t limit);

/* Move `n` weights, aligned to 4 bytes, with the stream that begins at `state`. No perturbation leaves int16. */
void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, const direction_moves_t *moves);
