/* The noise z of docs/arithmetic.md, section 8, for four weights at a time. */
#ifndef NOISE_DSP_H
#define NOISE_DSP_H

#include "kernels/dsp.h"
#include "kernels/noise.h"

#define EVEN_BYTES 0x00FF00FFu

/* What stays the same for a tensor. */
typedef struct {
    uint32_t factor;  /* 2 r_max + 1 */
    uint32_t half;    /* r_max in both lanes of 16 bits */
    uint32_t r_max;   /* in all bytes */
    uint32_t p_zero;  /* in all bytes */
} noise4_t;

static inline noise4_t noise4_begin(const noise_t *noise) {
    const uint32_t r = noise->r_max;
    return (noise4_t){.factor = 2 * r + 1, .half = r << 16 | r, .r_max = four_times((int32_t)r), .p_zero = four_times(noise->p_zero)};
}

/* Four z, signed bytes. A product of a byte with the factor fits 16 bits: 255 * 255 + 127 < 2^16. */
static inline uint32_t noise4_of(const noise4_t *noise, noise_words_t words) {
    const uint32_t even = (words.b & EVEN_BYTES) * noise->factor + noise->half;
    const uint32_t odd = (words.b >> 8 & EVEN_BYTES) * noise->factor + noise->half;
    const uint32_t above = (even >> 8 & EVEN_BYTES) | (odd & ~EVEN_BYTES); /* z + r_max, 0..2 r_max */
    return where_at_least_u8(words.a, noise->p_zero, wrap_bytes(above, noise->r_max), 0);
}

#endif
