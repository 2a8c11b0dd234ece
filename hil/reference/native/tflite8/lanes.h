/* Vectors of 16 int16 and of 8 int32. A processor with AVX-512 runs them too. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined __AVX2__
#error "this processor has no AVX2"
#endif
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8, SHORTS = 16 }; /* of int32, of int16 */

typedef int16_t Shorts __attribute__((vector_size(32), aligned(2), may_alias));
typedef int32_t Words __attribute__((vector_size(32), aligned(4), may_alias));

INLINE Shorts load(const int16_t *from) {
    return *(const Shorts *)from;
}

/* Return eight numbers in the lower half; the upper half is 0. */
INLINE Shorts load_half(const int16_t *from) {
    return (Shorts)_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)from));
}

INLINE Words load_words(const int32_t *from) {
    return *(const Words *)from;
}

INLINE Shorts all_shorts(int32_t value) {
    return (Shorts)_mm256_set1_epi16((int16_t)value);
}

INLINE Words all_words(int32_t value) {
    return (Words)_mm256_set1_epi32(value);
}

/* Return a vector that the compiler keeps in a register and does not load again. */
INLINE Words kept(Words words) {
    __asm__("" : "+x"(words));
    return words;
}

/* Return a pair of int16 eight times. */
INLINE Words pair_of(const int16_t *from) {
    int32_t pair;
    memcpy(&pair, from, sizeof pair);
    return all_words(pair);
}

/* Add the products of pairs of int16. */
INLINE Words add_products(Words sums, Words pairs, Words others) {
    return sums + (Words)_mm256_madd_epi16((__m256i)pairs, (__m256i)others);
}

/* Pairs of int16, one of each of two vectors: `low` those of the numbers 0..3 and 8..11, `high` the others. */
typedef struct {
    Words low, high;
} Pairs;

INLINE Pairs paired(Shorts one, Shorts other) {
    return (Pairs){(Words)_mm256_unpacklo_epi16((__m256i)one, (__m256i)other),
                   (Words)_mm256_unpackhi_epi16((__m256i)one, (__m256i)other)};
}

/* Return pairs of the first eight numbers of two vectors, in their order. */
INLINE Words paired_half(Shorts one, Shorts other) {
    __m128i a = _mm256_castsi256_si128((__m256i)one), b = _mm256_castsi256_si128((__m256i)other);
    return (Words)_mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b));
}

/* Put together what `paired` parted; saturate to int16. */
INLINE Shorts packed(Words low, Words high) {
    return (Shorts)_mm256_packs_epi32((__m256i)low, (__m256i)high);
}

/* Return eight words in the lower half, saturated to int16. */
INLINE Shorts packed_half(Words words) {
    __m256i both = _mm256_packs_epi32((__m256i)words, (__m256i)words);
    return (Shorts)_mm256_permute4x64_epi64(both, 0x08);
}

INLINE Shorts clamped(Shorts values, Shorts low, Shorts high) {
    return (Shorts)_mm256_min_epi16(_mm256_max_epi16((__m256i)values, (__m256i)low), (__m256i)high);
}

/* Write the first `count` of 16 numbers. */
INLINE void store_some(int16_t *to, Shorts values, ptrdiff_t count) {
    if (count >= SHORTS)
        *(Shorts *)to = values;
    else
        memcpy(to, &values, (size_t)count * sizeof *to);
}

/* Write the first `count` of 8 numbers in the lower half. */
INLINE void store_half(int16_t *to, Shorts values, ptrdiff_t count) {
    if (count >= LANES)
        _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128((__m256i)values));
    else
        memcpy(to, &values, (size_t)count * sizeof *to);
}

/* Return -1 where a bit of the lowest 16 is 1, else 0. */
INLINE Shorts mask_of(uint32_t bits) {
    const Shorts own = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768};
    return (Shorts)_mm256_cmpeq_epi16(_mm256_and_si256((__m256i)all_shorts((int32_t)bits), (__m256i)own), (__m256i)own);
}
