/* The noise z of docs/arithmetic.md, section 8, for four weights at a time. */
#ifndef NOISE_DSP_H
#define NOISE_DSP_H

#include "kernels/dsp.h"
#include "kernels/noise.h"

/* What stays the same for a tensor. A kernel may want z - `less` of every z, which costs nothing. */
typedef struct {
    uint32_t factor; /* 2 r_max + 1 */
    uint32_t half;   /* r_max in both lanes of 16 bits */
    uint32_t offset; /* r_max + less in all bytes */
    uint32_t zero;   /* -less in all bytes, which z = 0 becomes */
    uint32_t p_zero; /* in all bytes */
} noise4_t;

static inline noise4_t noise4_begin(const noise_t *noise, uint32_t less) {
    const uint32_t r = noise->r_max;
    return (noise4_t){
        .factor = 2 * r + 1,
        .half = r << 16 | r,
        .offset = four_times((int32_t)(r + less)),
        .zero = four_times(-(int32_t)less),
        .p_zero = four_times(noise->p_zero),
    };
}

/* Four z - less, signed bytes, modulo 2^8. A product of a byte with the factor fits 16 bits: 255 * 255 + 127 < 2^16. */
static inline uint32_t noise4_of(const noise4_t *noise, noise_words_t words) {
    const uint32_t even = even_lanes_u8(words.b) * noise->factor + noise->half;
    const uint32_t odd = odd_lanes_u8(words.b) * noise->factor + noise->half;
    const uint32_t above = odd_lanes_u8(even) | (odd & 0xFF00FF00u); /* z + r_max, 0..2 r_max */
    return where_at_least_u8(words.a, noise->p_zero, wrap_bytes(above, noise->offset), noise->zero);
}

#endif
