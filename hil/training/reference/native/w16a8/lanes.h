/* Vectors of int16 and int32: the same number of as many samples. */
#pragma once

#include "../shorts.h"

enum { LANES = SHORTS };

/* LANES numbers of 32 bits in the order in which pairs of int16 lie: `paired` parts them, `packed` puts them back. */
typedef Pairs Sums;

INLINE void store(int16_t *to, Shorts values) {
    *(Shorts *)to = values;
}

/* Return the upper 32 bits of each product with a factor that is the same in all lanes. */
INLINE Words upper_products(Words values, Words factors) {
    return interleaved(even_products(values, factors) >> 32, odd_products(values, factors));
}

INLINE Shorts clamped(Shorts values, int32_t low, int32_t high) {
    return minimum(maximum(values, all_shorts(low)), all_shorts(high));
}
