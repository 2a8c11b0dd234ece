/* Compiled with -fno-tree-loop-distribute-patterns: the compiler must not turn these loops into calls of themselves. */
#include <string.h>

#include <stdbool.h>
#include <stdint.h>

enum { WORD = sizeof(uint32_t), FOUR_WORDS = 4 * WORD };

/* Armv7-M accesses words at any address of normal memory, Armv6-M only at their own. */
#ifdef __ARM_FEATURE_UNALIGNED
typedef uint32_t __attribute__((may_alias, aligned(1))) word_t;
#else
typedef uint32_t __attribute__((may_alias)) word_t;
#endif

/* Four words at their own addresses: LDM and STM. */
typedef struct {
    uint32_t word[4];
} __attribute__((may_alias)) four_words_t;

static bool by_words(uintptr_t to, uintptr_t from) {
    return (to | from) % _Alignof(word_t) == 0;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uint8_t *out = to;
    const uint8_t *in = from;
    if (_Alignof(word_t) < WORD && ((uintptr_t)to | (uintptr_t)from) % WORD == 0) { /* else the next loop does */
        for (; n >= FOUR_WORDS; n -= FOUR_WORDS, out += FOUR_WORDS, in += FOUR_WORDS) {
            *(four_words_t *)(void *)out = *(const four_words_t *)(const void *)in;
        }
    }
    if (by_words((uintptr_t)to, (uintptr_t)from)) {
        for (; n >= FOUR_WORDS; n -= FOUR_WORDS, out += FOUR_WORDS, in += FOUR_WORDS) {
            word_t *const to_words = (void *)out;
            const word_t *const from_words = (const void *)in;
            to_words[0] = from_words[0];
            to_words[1] = from_words[1];
            to_words[2] = from_words[2];
            to_words[3] = from_words[3];
        }
        for (; n >= WORD; n -= WORD, out += WORD, in += WORD) {
            *(word_t *)(void *)out = *(const word_t *)(const void *)in;
        }
    }
    while (n-- > 0) {
        *out++ = *in++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((uintptr_t)out <= (uintptr_t)in) {
        for (size_t i = 0; i < n; i++) {
            out[i] = in[i];
        }
    } else {
        while (n-- > 0) {
            out[n] = in[n];
        }
    }
    return to;
}

void *memset(void *to, int value, size_t n) {
    uint8_t *out = to;
    const uint32_t word = (uint8_t)value * 0x01010101u;
    if (by_words((uintptr_t)to, 0)) {
        for (; n >= FOUR_WORDS; n -= FOUR_WORDS, out += FOUR_WORDS) {
            word_t *const words = (void *)out;
            words[0] = word;
            words[1] = word;
            words[2] = word;
            words[3] = word;
        }
        for (; n >= WORD; n -= WORD, out += WORD) {
            *(word_t *)(void *)out = word;
        }
    }
    while (n-- > 0) {
        *out++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *left = a;
    const uint8_t *right = b;
    for (size_t i = 0; i < n; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}
