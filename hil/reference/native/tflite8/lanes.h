/* Vectors of int16 and of int32: 32 and 16 of them with AVX-512, 16 and 8 with AVX2. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined __AVX2__
#error "this processor has neither AVX2 nor AVX-512"
#endif
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#ifdef __AVX512BW__
enum { LANES = 16 }; /* of int32 */
#else
enum { LANES = 8 };
#endif
enum { SHORTS = 2 * LANES, LONGS = LANES / 2 }; /* of int16, of int64 */

typedef int16_t Shorts __attribute__((vector_size(4 * LANES), aligned(2), may_alias));
typedef int32_t Words __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int64_t Longs __attribute__((vector_size(4 * LANES), aligned(8), may_alias));

/* Pairs of int16, one of each of two vectors, in the order in which `paired` puts them. */
typedef struct {
    Words low, high;
} Pairs;

INLINE Shorts load(const int16_t *from) {
    return *(const Shorts *)from;
}

INLINE Words load_words(const int32_t *from) {
    return *(const Words *)from;
}

#ifdef __AVX512BW__
#include "lanes_avx512.h"
#else
#include "lanes_avx2.h"
#endif

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
