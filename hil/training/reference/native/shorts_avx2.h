/* What shorts.h needs of AVX2. */

INLINE Shorts all_shorts(int32_t value) {
    return (Shorts)_mm256_set1_epi16((int16_t)value);
}

INLINE Words all_words(int32_t value) {
    return (Words)_mm256_set1_epi32(value);
}

INLINE Shorts maximum(Shorts one, Shorts other) {
    return (Shorts)_mm256_max_epi16((__m256i)one, (__m256i)other);
}

INLINE Shorts minimum(Shorts one, Shorts other) {
    return (Shorts)_mm256_min_epi16((__m256i)one, (__m256i)other);
}

INLINE Words within(Words words, Words least, Words most) {
    return (Words)_mm256_min_epi32(_mm256_max_epi32((__m256i)words, (__m256i)least), (__m256i)most);
}

INLINE Words shifted_left(Words words, Words by) {
    return (Words)_mm256_sllv_epi32((__m256i)words, (__m256i)by);
}

INLINE Words shifted_right(Words words, Words by) {
    return (Words)_mm256_srav_epi32((__m256i)words, (__m256i)by);
}

/* Return SHORTS numbers of 8 bits, or WORDS numbers of 16. */
INLINE Shorts widened_bytes(const int8_t *from) {
    return (Shorts)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from));
}

INLINE Words widened(const int16_t *from) {
    return (Words)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)from));
}

/* Add the products of pairs of int16. */
INLINE Words add_products(Words sums, Words pairs, Words others) {
    return sums + (Words)_mm256_madd_epi16((__m256i)pairs, (__m256i)others);
}

/* Return the products of the even lanes, or of the odd ones; of the factors the even lanes count. */
INLINE Longs even_products(Words words, Words factors) {
    return (Longs)_mm256_mul_epi32((__m256i)words, (__m256i)factors);
}

INLINE Longs odd_products(Words words, Words factors) {
    return (Longs)_mm256_mul_epi32(_mm256_srli_epi64((__m256i)words, 32), (__m256i)factors);
}

/* Put together the lower words of `even` and the upper words of `odd`. */
INLINE Words interleaved(Longs even, Longs odd) {
    return (Words)_mm256_blend_epi32((__m256i)even, (__m256i)odd, 0xAA);
}

/* `low` has the pairs of the first four of every eight numbers, `high` the others. */
INLINE Pairs paired(Shorts one, Shorts other) {
    return (Pairs){(Words)_mm256_unpacklo_epi16((__m256i)one, (__m256i)other),
                   (Words)_mm256_unpackhi_epi16((__m256i)one, (__m256i)other)};
}

/* Return pairs of the first WORDS numbers of two vectors, in their order. */
INLINE Words paired_half(Shorts one, Shorts other) {
    __m128i a = _mm256_castsi256_si128((__m256i)one), b = _mm256_castsi256_si128((__m256i)other);
    return (Words)_mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b));
}

/* Put together what `paired` parted; saturate to int16. */
INLINE Shorts packed(Words low, Words high) {
    return (Shorts)_mm256_packs_epi32((__m256i)low, (__m256i)high);
}

/* Return the words in the lower half, saturated to int16. */
INLINE Shorts packed_half(Words words) {
    __m256i both = _mm256_packs_epi32((__m256i)words, (__m256i)words);
    return (Shorts)_mm256_permute4x64_epi64(both, 0x08);
}

/* Write the first `count` of SHORTS numbers. */
INLINE void store_some(int16_t *to, Shorts values, ptrdiff_t count) {
    if (count >= SHORTS)
        *(Shorts *)to = values;
    else
        memcpy(to, &values, (size_t)count * sizeof *to);
}

/* Write the first `count` of WORDS numbers in the lower half. */
INLINE void store_half(int16_t *to, Shorts values, ptrdiff_t count) {
    if (count >= WORDS)
        _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128((__m256i)values));
    else
        memcpy(to, &values, (size_t)count * sizeof *to);
}

/* Return -1 where a bit of the lowest SHORTS is 1, else 0. */
INLINE Shorts mask_of(uint32_t bits) {
    const Shorts own = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768};
    return (Shorts)_mm256_cmpeq_epi16(_mm256_and_si256((__m256i)all_shorts((int32_t)bits), (__m256i)own), (__m256i)own);
}

/* Add `more` where a bit of the lowest WORDS is 1. */
INLINE Words add_where(Words words, uint32_t bits, Words more) {
    const Words own = {1, 2, 4, 8, 16, 32, 64, 128};
    return words + (more & (Words)_mm256_cmpeq_epi32((__m256i)(all_words((int32_t)bits) & own), (__m256i)own));
}
