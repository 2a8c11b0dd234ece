#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/relu_s8.h"

#define SIGNS 0x80808080u

/* Four values at an aligned address. */
typedef struct __attribute__((may_alias)) {
    uint32_t bytes;
} word_t;

/* The sign of each byte becomes a mask of its own byte: 2^8 - 1 times. */
static uint32_t without_negative_bytes(uint32_t word) {
    const uint32_t negative = (word & SIGNS) >> 7;
    return word & ~((negative << 8) - negative);
}

void relu_s8(int8_t *values, uint32_t n) {
    while (n > 0 && ((uintptr_t)values % sizeof(word_t) != 0 || n < sizeof(word_t))) {
        *values = *values > 0 ? *values : 0;
        values++;
        n--;
    }
    for (; n >= sizeof(word_t); n -= (uint32_t)sizeof(word_t), values += sizeof(word_t)) {
        word_t *word = (word_t *)(void *)values;
        word->bytes = without_negative_bytes(word->bytes);
    }
    for (; n > 0; n--, values++) {
        *values = *values > 0 ? *values : 0;
    }
}

#endif
