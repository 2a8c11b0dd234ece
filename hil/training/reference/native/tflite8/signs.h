/* Rademacher numbers (docs/arithmetic-zeroth-order.md, section 3): a bit each, 1 where the number is -1. */
#pragma once

#include "tflite8.h"

enum { DRAWS = 32 }; /* of a word */

/* Two maps of a state, linear in its bits, with a table for each of its bytes. */
typedef struct {
    uint32_t low_bits[4][256]; /* bit 0 of the 32 states after it */
    uint32_t jump[4][256];     /* the state 32 draws later */
} Draws;

void make_draws(Draws *draws);

/* Return the state before the first draw. */
uint32_t start(uint32_t seed, uint32_t step, uint32_t number);

/* Return how many words so many draws have. */
static inline ptrdiff_t words_of(ptrdiff_t count) {
    return (count + DRAWS - 1) / DRAWS;
}

void draw(const Draws *draws, uint32_t state, ptrdiff_t count, uint32_t *bits);

/* Write numbers int8 plus `sign` times the draws. SLACK numbers after `to` may be written. */
void move_weights(const int8_t *from, ptrdiff_t count, const uint32_t *bits, int sign, int16_t *to);

/* Write biases plus `sign` times m_o times the draws that begin with the draw `first`. */
void move_biases(const Layer *layer, const uint32_t *bits, ptrdiff_t first, int sign, int32_t *to);

/* Write outputs plus the draws where they lie strictly between their limits. */
void move_nodes(const Layer *layer, const int16_t *from, const uint32_t *bits, int16_t *to);

/* Write the sum over the queries of delta * xi of each draw; the bits of a query begin `words` after those of the one
 * before. */
void signed_sums(int32_t queries, const int32_t *deltas, const uint32_t *bits, ptrdiff_t words, ptrdiff_t count,
                 int32_t *sums);

/* Return the exponent of m_o. */
static inline int bias_step(const Layer *layer, int32_t channel) {
    int up = -layer->shift[channel];
    return up < 0 ? 0 : up > 20 ? 20 : up;
}
