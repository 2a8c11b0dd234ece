/* Vectors of int16 and int32: the same number of as many samples. */
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
enum { LANES = 32 }; /* of int16 */
#else
enum { LANES = 16 };
#endif

typedef int16_t Shorts __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef int32_t Words __attribute__((vector_size(2 * LANES), aligned(4), may_alias));

/* LANES numbers of 32 bits in the order in which pairs of int16 lie: `unpacked` parts them, `packed` puts them back. */
typedef struct {
    Words low, high;
} Sums;

/* Pairs of int16: one of each of two vectors. */
typedef struct {
    Shorts low, high;
} Pairs;

INLINE Shorts load(const int16_t *from) {
    return *(const Shorts *)from;
}

INLINE void store(int16_t *to, Shorts values) {
    *(Shorts *)to = values;
}

#ifdef __AVX512BW__
INLINE Shorts all_shorts(int16_t value) {
    return (Shorts)_mm512_set1_epi16(value);
}

INLINE Words all_words(int32_t value) {
    return (Words)_mm512_set1_epi32(value);
}

INLINE Shorts larger(Shorts one, Shorts other) {
    return (Shorts)_mm512_max_epi16((__m512i)one, (__m512i)other);
}

INLINE Shorts smaller(Shorts one, Shorts other) {
    return (Shorts)_mm512_min_epi16((__m512i)one, (__m512i)other);
}

INLINE Pairs unpacked(Shorts one, Shorts other) {
    return (Pairs){(Shorts)_mm512_unpacklo_epi16((__m512i)one, (__m512i)other),
                   (Shorts)_mm512_unpackhi_epi16((__m512i)one, (__m512i)other)};
}

/* Saturate to int16. */
INLINE Shorts packed(Words low, Words high) {
    return (Shorts)_mm512_packs_epi32((__m512i)low, (__m512i)high);
}

/* Add the products of pairs with a pair of weights. */
INLINE Words add_products(Words sums, Shorts pairs, Words weights) {
#ifdef __AVX512VNNI__
    return (Words)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)pairs, (__m512i)weights);
#else
    return sums + (Words)_mm512_madd_epi16((__m512i)pairs, (__m512i)weights);
#endif
}

/* Return the upper 32 bits of each product. */
INLINE Words upper_products(Words values, Words factors) {
    __m512i even = _mm512_mul_epi32((__m512i)values, (__m512i)factors);
    __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64((__m512i)values, 32), (__m512i)factors);
    return (Words)_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}
#else
INLINE Shorts all_shorts(int16_t value) {
    return (Shorts)_mm256_set1_epi16(value);
}

INLINE Words all_words(int32_t value) {
    return (Words)_mm256_set1_epi32(value);
}

INLINE Shorts larger(Shorts one, Shorts other) {
    return (Shorts)_mm256_max_epi16((__m256i)one, (__m256i)other);
}

INLINE Shorts smaller(Shorts one, Shorts other) {
    return (Shorts)_mm256_min_epi16((__m256i)one, (__m256i)other);
}

INLINE Pairs unpacked(Shorts one, Shorts other) {
    return (Pairs){(Shorts)_mm256_unpacklo_epi16((__m256i)one, (__m256i)other),
                   (Shorts)_mm256_unpackhi_epi16((__m256i)one, (__m256i)other)};
}

INLINE Shorts packed(Words low, Words high) {
    return (Shorts)_mm256_packs_epi32((__m256i)low, (__m256i)high);
}

INLINE Words add_products(Words sums, Shorts pairs, Words weights) {
    return sums + (Words)_mm256_madd_epi16((__m256i)pairs, (__m256i)weights);
}

INLINE Words upper_products(Words values, Words factors) {
    __m256i even = _mm256_mul_epi32((__m256i)values, (__m256i)factors);
    __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64((__m256i)values, 32), (__m256i)factors);
    return (Words)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}
#endif

INLINE Shorts clamped(Shorts values, int32_t low, int32_t high) {
    return smaller(larger(values, all_shorts((int16_t)low)), all_shorts((int16_t)high));
}
