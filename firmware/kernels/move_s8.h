/* The passes of a step over its weights, docs/arithmetic.md, sections 8 and 9: each adds to every weight what its z
   requires. The pool and what a pass makes of it are the same for all tensors of the pass: they are made once, and then
   moved by. */
#pragma once

#include <stdint.h>

#include "kernels/noise.h"

/* Every pass moves a weight twice, clipping it each time:
       perturbation by z:    w = clip127(w + z)
       perturbation by -2 z: w = clip127(clip127(w - z) - z), which is clip127(w - 2 z): both go the same way
       update:               w = clipW(clipW(w + z) - u)
   W is 127, or with `perturb = exact` 127 - r_max. Then the weights at rest are within W, no perturbation saturates,
   and w + z at the update is the weight at rest. */
enum { MOVES_WORDS = 2 * NOISE_FIELDS };

typedef struct {
    uint32_t *words; /* MOVES_WORDS of the caller's, until the pass is over */
    uint8_t form;    /* what is in them, which differs by core */
    uint8_t limit;   /* W */
} moves_t;

/* Make the moves of a perturbation by k * z, k in {1, -2}, from the pool that begins with the state of `noise`. `limit`
   is 127 or 127 - r_max, then at least 64. */
void moves_to_perturb(moves_t *moves, noise_t noise, int32_t k, uint8_t limit);

/* Make those of the update by u, from z, the `sign` of the loss difference and b_zo. */
void moves_to_update(moves_t *moves, noise_t noise, int32_t sign, int32_t b_zo, uint8_t limit);

/* Move a tensor of `n` weights, aligned to 4 bytes, with the stream that begins at `state`. */
void move_s8(int8_t *weights, uint32_t n, uint32_t state, const moves_t *moves);
