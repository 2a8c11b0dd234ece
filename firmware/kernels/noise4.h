/* An entry of the pool of docs/arithmetic.md, section 8, all four numbers at a time: two bytes of a random word to a lane of 16 bits. */
#ifndef NOISE4_H
#define NOISE4_H

#include "kernels/noise.h"

/* What stays the same for a pool, in both lanes. */
typedef struct {
    uint32_t factor; /* 2 r_max + 1, once */
    uint32_t half;   /* r_max */
    uint32_t below;  /* 256 - r_max */
    uint32_t keep;   /* 256 - p_zero */
} noise4_t;

#define NOISE4_LOW 0x00FF00FFu  /* the low byte of both lanes */
#define NOISE4_ONES 0x00010001u /* one in both */

static inline noise4_t noise4_begin(const noise_t *noise) {
    return (noise4_t){
        .factor = 2u * noise->r_max + 1u,
        .half = noise->r_max * NOISE4_ONES,
        .below = (256u - noise->r_max) * NOISE4_ONES,
        .keep = (256u - noise->p_zero) * NOISE4_ONES,
    };
}

/* z, modulo 2^8, of the bytes in two lanes. A product with the factor fits its lane, 255 * 255 + 127 < 2^16, and so does
   a + 256 - p_zero, which reaches 256 where z is kept. */
static inline uint32_t noise4_lanes(const noise4_t *noise, uint32_t a, uint32_t b) {
    const uint32_t above = (b * noise->factor + noise->half) >> 8 & NOISE4_LOW; /* z + r_max */
    const uint32_t kept = (a + noise->keep) >> 8 & NOISE4_ONES;
    return (above + noise->below) & ((kept << 8) - kept);
}

/* The next four z, as bytes. */
static inline uint32_t noise4_next(const noise4_t *same, noise_t *noise) {
    const noise_words_t words = noise_next(noise);
    const uint32_t even = noise4_lanes(same, words.a & NOISE4_LOW, words.b & NOISE4_LOW);
    const uint32_t odd = noise4_lanes(same, words.a >> 8 & NOISE4_LOW, words.b >> 8 & NOISE4_LOW);
    return even | odd << 8;
}

#endif
