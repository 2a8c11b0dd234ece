/* Sums of products, LANES at a time: the one inner loop of forward passes, input errors and weight gradients.
 *
 * One operand is bytes, four of them for all lanes; the other is laid out in words of four bytes a lane. Where the
 * processor multiplies unsigned bytes by signed ones, the first operand is its values plus RAISE, and the start values
 * of the sums subtract what that adds. Sums are modulo 2^32, so that only the last one has to fit.
 */
#pragma once

#include <string.h>

#include "native.h"

#if !defined __AVX2__
#error "this processor has neither AVX2 nor AVX-512 VNNI"
#endif
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#ifdef __AVX512VNNI__
enum { LANES = 16, RAISE = 128 };
#else
enum { LANES = 8, RAISE = 0 };
#endif
enum { MOST = 8 };

typedef int32_t Sums __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#ifdef __AVX512VNNI__
/* Add the products of four bytes with the four of each lane. */
INLINE Sums add_products(Sums sums, const uint8_t *four, const int8_t *lanes) {
    int32_t word;
    memcpy(&word, four, sizeof word);
    return (Sums)_mm512_dpbusd_epi32((__m512i)sums, _mm512_set1_epi32(word), _mm512_loadu_si512(lanes));
}

INLINE Sums larger(Sums one, Sums other) {
    return (Sums)_mm512_max_epi32((__m512i)one, (__m512i)other);
}

/* Return LANES bytes, from 0 to 255. */
INLINE Sums load_bytes(const int8_t *from) {
    return (Sums)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from));
}
#else
/* The sign of the first operand goes to the second; two products of magnitudes up to 127 then fit 16 bits. */
INLINE Sums add_products(Sums sums, const uint8_t *four, const int8_t *lanes) {
    int32_t word;
    memcpy(&word, four, sizeof word);
    __m256i x = _mm256_set1_epi32(word), own = _mm256_sign_epi8(_mm256_loadu_si256((const __m256i *)lanes), x);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), own);
    return (Sums)_mm256_add_epi32((__m256i)sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE Sums larger(Sums one, Sums other) {
    return (Sums)_mm256_max_epi32((__m256i)one, (__m256i)other);
}

INLINE Sums load_bytes(const int8_t *from) {
    return (Sums)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
}
#endif

INLINE Sums load_sums(const int32_t *from) {
    return *(const Sums *)from;
}

INLINE void store_sums(int32_t *to, Sums sums) {
    *(Sums *)to = sums;
}

/* Return int8 values as the first operand. */
INLINE void raise_values(const int8_t *values, int64_t count, uint8_t *raised) {
    for (int64_t i = 0; i < count; i++)
        raised[i] = (uint8_t)(values[i] + RAISE);
}

/* What a call of `dots` reads: `rows` rows of `quads` words of four bytes, `pitch` bytes from row to row; and as many
 * words of lanes. */
typedef struct {
    int32_t rows, quads;
    ptrdiff_t pitch;
    const int8_t *lanes;
    const int32_t *start;
} Product;

INLINE void dots_of(const int count, const Product *with, const uint8_t *x, ptrdiff_t step, int32_t *out,
                    ptrdiff_t out_step) {
    Sums sums[MOST];
    const int8_t *lanes = with->lanes;
    for (int i = 0; i < count; i++)
        sums[i] = load_sums(with->start);
    for (int32_t row = 0; row < with->rows; row++) {
        const uint8_t *at = x + row * with->pitch;
        for (int32_t quad = 0; quad < with->quads; quad++, at += QUAD, lanes += LANES * QUAD)
            for (int i = 0; i < count; i++)
                sums[i] = add_products(sums[i], at + i * step, lanes);
    }
    for (int i = 0; i < count; i++)
        store_sums(out + i * out_step, sums[i]);
}

/* Write LANES sums for each of `count` places, which are `step` bytes apart; the sums of two places are `out_step`
 * apart, and later ones overwrite earlier ones. */
static inline void dots(int64_t count, const Product *with, const uint8_t *x, ptrdiff_t step, int32_t *out,
                        ptrdiff_t out_step) {
    int64_t blocks = (count + MOST - 1) / MOST;
    for (; blocks > 0; blocks--) {
        int64_t some = (count + blocks - 1) / blocks; /* even blocks: a short one waits for its own sums */
        switch (some) {
        case 1: dots_of(1, with, x, step, out, out_step); break;
        case 2: dots_of(2, with, x, step, out, out_step); break;
        case 3: dots_of(3, with, x, step, out, out_step); break;
        case 4: dots_of(4, with, x, step, out, out_step); break;
        case 5: dots_of(5, with, x, step, out, out_step); break;
        case 6: dots_of(6, with, x, step, out, out_step); break;
        case 7: dots_of(7, with, x, step, out, out_step); break;
        default: dots_of(8, with, x, step, out, out_step); break;
        }
        x += some * step;
        out += some * out_step;
        count -= some;
    }
}
