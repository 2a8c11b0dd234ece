/* The pool of noise of docs/arithmetic.md, section 8, and how groups of weights draw from it. */
#pragma once

#include <stdint.h>

#include "arith/random.h"

enum {
    NOISE_ENTRIES = 256,
    NOISE_FIELDS = 2 * NOISE_ENTRIES,
    NOISE_GROUPS = 3 /* of four weights, that share a word */
};

/* What the pool of a step is made of. */
typedef struct {
    uint8_t p_zero, r_max;
    uint32_t state; /* of the generator */
} noise_t;

/* The random words of an entry of the pool. */
typedef struct {
    uint32_t a, b;
} noise_words_t;

static inline noise_words_t noise_next(noise_t *noise) {
    const uint32_t a = xorshift32(noise->state);
    const uint32_t b = xorshift32(a);
    noise->state = b;
    return (noise_words_t){.a = a, .b = b};
}

/* Number `i` of the entry, in -r_max..r_max. */
static inline int32_t noise_of(const noise_t *noise, noise_words_t words, uint32_t i) {
    const uint32_t a = (words.a >> (8 * i)) & 0xFFu;
    const uint32_t b = (words.b >> (8 * i)) & 0xFFu;
    const uint32_t r = noise->r_max;
    const int32_t z = (int32_t)((b * (2 * r + 1) + r) >> 8) - (int32_t)r;
    return a < noise->p_zero ? 0 : z;
}

/* What group j of three takes by the word they share: the entry, and from NOISE_ENTRIES on the same with the other
   sign. */
static inline uint32_t noise_field(uint32_t word, uint32_t j) {
    return (word >> (9 * j)) & (NOISE_FIELDS - 1u);
}
