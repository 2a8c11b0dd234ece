/* Vectors of int16 and of int32, as the formats of 8 and of 16 bits need them, with AVX-512 or AVX2. */
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
enum { WORDS = 16 }; /* of a vector of int32 */
#else
enum { WORDS = 8 };
#endif
enum { SHORTS = 2 * WORDS }; /* of a vector of int16 */

typedef int16_t Shorts __attribute__((vector_size(4 * WORDS), aligned(2), may_alias));
typedef int32_t Words __attribute__((vector_size(4 * WORDS), aligned(4), may_alias));
/* Without a sign: AVX2 has no shift of 64 bits that keeps it, and only 32 bits of a product are used. */
typedef uint64_t Longs __attribute__((vector_size(4 * WORDS), aligned(8), may_alias));

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
#include "shorts_avx512.h"
#else
#include "shorts_avx2.h"
#endif
