/* Perturbations of weights, biases and outputs: by noise from a pool in the format bfp8, with the updates that draw the
   same noise (docs/arithmetic.md, sections 8 and 9); by +1 and -1 in the format tflite8
   (docs/arithmetic-zeroth-order.md, section 3). */
#pragma once

#include <stdint.h>

#include "kernels/noise.h"

/* bfp8. The pool, and what a pass makes of it, are the same for all tensors of the pass: they are made once, and then
   each tensor is moved by them. */

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

/* tflite8. Each kernel takes a stream of random signs (rademacher_begin() in arith/rademacher.h) and returns the state
   of the stream after its draws. */

/* w = w + k * xi for `n` weights, k in {1, -1}. The weights are aligned to 4 bytes and within -126..126 before they are
   perturbed, so that no byte overflows: the same signs with the other k restore them exactly. */
uint32_t perturb_weights_s8(int8_t *weights, uint32_t n, uint32_t signs, int32_t k);

/* The binary logarithm of m_o for a channel with this shift (-31..30). */
static inline int32_t bias_step_exponent(int32_t shift) {
    const int32_t wanted = shift < 0 ? -shift : 0;
    return wanted < 20 ? wanted : 20;
}

/* bias = bias + k * xi * m_o for `n` biases, k in {1, -1}; shift[o] is the shift of the bias's channel. The biases are
   within +-2^30. */
uint32_t perturb_biases_s32(int32_t *bias, const int8_t *shift, uint32_t n, uint32_t signs, int32_t k);

/* Node perturbation: out = a + xi for each of `n` outputs `a` strictly between act_min and act_max, out = a for the
   others. Every output takes a draw. `out` may be `in`, else they do not overlap; both are aligned to 4 bytes. */
uint32_t perturb_nodes_s8(const int8_t *in, uint32_t n, int8_t act_min, int8_t act_max, uint32_t signs, int8_t *out);
