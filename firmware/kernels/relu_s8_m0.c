#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/elementwise.h"

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

static void relu_bytes(int8_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

void relu_s8(int8_t *values, uint32_t n) {
    const uint32_t unaligned = -(uint32_t)(uintptr_t)values % sizeof(word_t);
    const uint32_t before = unaligned < n ? unaligned : n;
    word_t *word = (word_t *)(void *)(values + before);
    word_t *const end = word + (n - before) / sizeof(word_t);
    for (; word != end; word++) {
        word->bytes = without_negative_bytes(word->bytes);
    }
    relu_bytes(values, before);
    relu_bytes((int8_t *)end, (n - before) % sizeof(word_t));
}

#endif
