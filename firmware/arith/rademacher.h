/* Rademacher numbers, docs/arithmetic-zeroth-order.md, section 3: one bit of each state of xorshift32.

   Every draw is linear over GF(2): so are 32 of them, and the 32 draws after these follow from them alone by one
   matrix, since the period of 2^32 - 1 makes the characteristic polynomial of xorshift32 irreducible (Marsaglia,
   "Xorshift RNGs", 2003, section 2). A stream is therefore carried as its next 32 bits, and no state is stepped after
   the first 32 draws. */
#ifndef RADEMACHER_H
#define RADEMACHER_H

#include <stdint.h>

#include "arith/rademacher_next.h"
#include "arith/random.h"

enum { SIGNS_PER_WORD = 32 };

/* The state with which query `query` of layer `layer` (its place among all layers of the file) draws for sample
   `sample` of a step. */
static inline uint32_t rademacher_state(uint32_t seed, uint32_t step, uint32_t sample, uint32_t layer, uint32_t query) {
    return tensor_state(seed, step, (sample * 64u + layer) * 128u + query);
}

/* The signs of the next 32 draws: bit i is that of draw i, xi = 1 - 2 * bit. Of a stream that begins with `state` (not
   0). */
uint32_t rademacher_begin(uint32_t state);

/* Those of the 32 draws after these. Armv6-M has too few registers to take it into a loop. */
#if defined(__ARM_ARCH_6M__)
uint32_t rademacher_next(uint32_t signs);
#else
static inline uint32_t rademacher_next(uint32_t signs) {
    return rademacher_following(signs);
}
#endif

/* Those of the 32 draws from draw `n` on, n in 0..31. */
static inline uint32_t rademacher_skip(uint32_t signs, uint32_t n) {
    return n == 0 ? signs : signs >> n | rademacher_next(signs) << (SIGNS_PER_WORD - n);
}

#endif
