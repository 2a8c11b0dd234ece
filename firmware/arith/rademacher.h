/* Rademacher numbers, docs/arithmetic-zeroth-order.md, section 3: one bit of each state of xorshift32.

   Every draw is linear over GF(2): so are 32 of them, and the 32 draws after these follow from them alone by one
   matrix, since the period of 2^32 - 1 makes the characteristic polynomial of xorshift32 irreducible (Marsaglia,
   "Xorshift RNGs", 2003, section 2). A stream is therefore carried as its next 32 bits, and no state is stepped after
   the first 32 draws. */
#pragma once

#include <stdint.h>

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

/* Of the lower and the upper half of each byte of 32 signs, 16 words for each byte: what these four signs are of the 32
   signs that follow. Their sum over GF(2) is what 32 more steps of xorshift32 give, which the host's tests take. */
extern const uint32_t rademacher_low[64], rademacher_high[64];

/* A word of a table by its place in bytes: an index would be shifted by an instruction of its own. */
static inline uint32_t rademacher_word(const uint32_t *table, uint32_t place) {
    return *(const uint32_t *)(const void *)((const uint8_t *)table + (place & 0xFFu));
}

static inline uint32_t rademacher_following(uint32_t signs) {
    const uint32_t halves = 0x3C3C3C3Cu, rows = 0xC0804000u; /* bytes of 4 * half + 64 * byte */
    const uint32_t low = (signs << 2 & halves) + rows, high = (signs >> 2 & halves) + rows;
    uint32_t next = rademacher_word(rademacher_low, low) ^ rademacher_word(rademacher_high, high);
    next ^= rademacher_word(rademacher_low, low >> 8) ^ rademacher_word(rademacher_high, high >> 8);
    next ^= rademacher_word(rademacher_low, low >> 16) ^ rademacher_word(rademacher_high, high >> 16);
    return next ^ rademacher_word(rademacher_low, low >> 24) ^ rademacher_word(rademacher_high, high >> 24);
}

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
