/* The 32 Rademacher numbers after 32 others: rademacher.h. */
#ifndef RADEMACHER_NEXT_H
#define RADEMACHER_NEXT_H

#include <stdint.h>

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

#endif
