/* The pool of noise of docs/arithmetic.md, section 8: how it is made, how groups of weights draw from it, and what an
   update adds for each number of it (section 9, step 6). */
#pragma once

#include <stdint.h>

#include "arith/integers.h"
#include "arith/psto_shift.h"
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

/* -u for every z, at [z + 127]: there are far fewer values than numbers in the pool. */
typedef struct {
    int8_t of[2 * 127 + 1];
    int32_t largest; /* |u| */
} zo_update_t;

static inline int32_t zo_update_of(const zo_update_t *update, int32_t z) {
    return update->of[z + 127];
}

static inline void zo_update_fill(zo_update_t *update, int32_t r_max, int32_t sign, int32_t b_zo) {
    const int32_t s = bits((uint32_t)r_max) - b_zo;
    update->largest = 0;
    for (int32_t z = 0; z <= r_max; z++) {
        const int32_t u = s < 1 ? z : psto_shift(z, s);
        update->of[127 + z] = (int8_t)(-sign * u); /* PstoShift is odd */
        update->of[127 - z] = (int8_t)(sign * u);
        update->largest = sign != 0 && u > update->largest ? u : update->largest;
    }
}

/* Those of four z, as bytes. */
static inline uint32_t zo_update_of_four(const zo_update_t *update, uint32_t z) {
    uint32_t updates = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const int8_t byte = (int8_t)(z >> (8 * i) & 0xFFu);
        updates |= (uint32_t)(uint8_t)zo_update_of(update, byte) << (8 * i);
    }
    return updates;
}
