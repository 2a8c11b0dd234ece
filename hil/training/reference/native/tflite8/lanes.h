/* Vectors with a number for each of as many output channels. */
#pragma once

#include "../shorts.h"

enum { LANES = WORDS };

/* Return a vector that the compiler keeps in a register and does not load again. */
INLINE Words kept(Words words) {
    __asm__("" : "+v"(words));
    return words;
}

/* Return a pair of int16 in all lanes. */
INLINE Words pair_of(const int16_t *from) {
    int32_t pair;
    memcpy(&pair, from, sizeof pair);
    return all_words(pair);
}

INLINE Shorts clamped(Shorts values, Shorts low, Shorts high) {
    return minimum(maximum(values, low), high);
}
