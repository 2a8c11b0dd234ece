/* An entry of the pool of docs/arithmetic.md, section 8, all four numbers at a time. */
#pragma once

#include "kernels/dsp.h"
#include "kernels/noise.h"

/* What stays the same for a pool. */
typedef struct {
    uint32_t factor; /* 2 r_max + 1 */
    uint32_t half;   /* r_max in both lanes of 16 bits */
    uint32_t offset; /* r_max in all bytes */
    uint32_t p_zero; /* in all bytes */
} noise4_t;

static inline noise4_t noise4_begin(const noise_t *noise) {
    const uint32_t r = noise->r_max;
    return (noise4_t){
        .factor = 2 * r + 1,
        .half = r << 16 | r,
        .offset = four_times(noise->r_max),
        .p_zero = four_times(noise->p_zero),
    };
}

/* The next four z, signed bytes. A product of a byte with the factor fits 16 bits: 255 * 255 + 127 < 2^16. */
static inline uint32_t noise4_next(const noise4_t *same, noise_t *noise) {
    const noise_words_t words = noise_next(noise);
    const uint32_t even = even_lanes_u8(words.b) * same->factor + same->half;
    const uint32_t odd = odd_lanes_u8(words.b) * same->factor + same->half;
    const uint32_t above = odd_lanes_u8(even) | (odd & 0xFF00FF00u); /* z + r_max, 0..2 r_max */
    return where_at_least_u8(words.a, same->p_zero, wrap_bytes(above, same->offset), 0);
}
