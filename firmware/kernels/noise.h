/* The noise z of docs/arithmetic.md, section 8. */
#ifndef NOISE_H
#define NOISE_H

#include <stdint.h>

#include "arith/random.h"

typedef struct {
    uint8_t p_zero, r_max;
    uint32_t state; /* of the generator */
} noise_t;

/* The random words of a group of four weights. */
typedef struct {
    uint32_t a, b;
} noise_words_t;

static inline noise_words_t noise_next(noise_t *noise) {
    const uint32_t a = xorshift32(noise->state);
    const uint32_t b = xorshift32(a);
    noise->state = b;
    return (noise_words_t){.a = a, .b = b};
}

/* z of weight `i` of the group, in -r_max..r_max. */
static inline int32_t noise_of(const noise_t *noise, noise_words_t words, uint32_t i) {
    const uint32_t a = (words.a >> (8 * i)) & 0xFFu;
    const uint32_t b = (words.b >> (8 * i)) & 0xFFu;
    const uint32_t r = noise->r_max;
    const int32_t z = (int32_t)((b * (2 * r + 1) + r) >> 8) - (int32_t)r;
    return a < noise->p_zero ? 0 : z;
}

#endif
