#include "methods/moments.h"

#include <string.h>

enum { LAST = MOMENTS_BLOCK - 1 };

#define SIGN 0x80000000u

static float float_of(uint32_t word) {
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static uint32_t word_of(float number) {
    uint32_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}

adamw_moments_t moments_at(const uint32_t *moments, uint32_t i) {
    const uint32_t *block = moments + i / MOMENTS_BLOCK * MOMENTS_BLOCK_WORDS, at = i % MOMENTS_BLOCK;
    uint32_t second = 0;
    if (at < LAST) {
        second = block[2 * at + 1] & ~SIGN;
    } else {
        for (uint32_t j = 0; j < LAST; j++) {
            second = second >> 1 | (block[2 * j + 1] & SIGN);
        }
        second >>= 1;
    }
    return (adamw_moments_t){.first = float_of(block[2 * at]), .second = float_of(second)};
}

void moments_put(uint32_t *moments, uint32_t i, adamw_moments_t value) {
    uint32_t *block = moments + i / MOMENTS_BLOCK * MOMENTS_BLOCK_WORDS, at = i % MOMENTS_BLOCK;
    const uint32_t second = word_of(value.second) & ~SIGN;
    block[2 * at] = word_of(value.first);
    if (at < LAST) {
        block[2 * at + 1] = (block[2 * at + 1] & SIGN) | second;
    } else {
        for (uint32_t j = 0; j < LAST; j++) {
            block[2 * j + 1] = (block[2 * j + 1] & ~SIGN) | (second << (LAST - j) & SIGN);
        }
    }
}
