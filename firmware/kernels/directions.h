/* The directions of QZO-FF: docs/arithmetic-qzo-ff.md, section 3. Groups of four elements draw from the pool as in
   noise.h. */
#pragma once

#include "kernels/noise.h"

/* z by a random byte, T: T[255 - i] = -T[i]. */
extern const int8_t direction_gaussian[NOISE_ENTRIES], direction_binomial[NOISE_ENTRIES];

/* The pool of a step, whose generator begins with `state`. */
void direction_pool(int8_t pool[NOISE_ENTRIES][4], uint32_t state, const int8_t table[NOISE_ENTRIES]);

/* The same with what a pass makes of each z, by the byte that draws it, and of -z behind it: `of` is as odd as T. */
void direction_moves(int16_t moves[NOISE_FIELDS][4], uint32_t state, const int16_t of[NOISE_ENTRIES]);

/* weights += their moves, for `n` weights, aligned to 4 bytes, with the stream that begins at `state`. `moves` is
   aligned to 8 bytes. No weight leaves int16. */
void direction_move_s16(int16_t *weights, uint32_t n, uint32_t state, int16_t moves[NOISE_FIELDS][4]);

/* The same, and then held in -limit..limit; the sums may leave int16. */
void direction_update_s16(int16_t *weights, uint32_t n, uint32_t state, int16_t moves[NOISE_FIELDS][4], int32_t limit);
