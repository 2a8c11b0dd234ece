/* What shorts.h needs of AVX-512; shorts_avx2.h says what each function does. */

INLINE Shorts all_shorts(int32_t value) {
    return (Shorts)_mm512_set1_epi16((int16_t)value);
}

INLINE Words all_words(int32_t value) {
    return (Words)_mm512_set1_epi32(value);
}

INLINE Shorts maximum(Shorts one, Shorts other) {
    return (Shorts)_mm512_max_epi16((__m512i)one, (__m512i)other);
}

INLINE Shorts minimum(Shorts one, Shorts other) {
    return (Shorts)_mm512_min_epi16((__m512i)one, (__m512i)other);
}

INLINE Words within(Words words, Words least, Words most) {
    return (Words)_mm512_min_epi32(_mm512_max_epi32((__m512i)words, (__m512i)least), (__m512i)most);
}

INLINE Words shifted_left(Words words, Words by) {
    return (Words)_mm512_sllv_epi32((__m512i)words, (__m512i)by);
}

INLINE Words shifted_right(Words words, Words by) {
    return (Words)_mm512_srav_epi32((__m512i)words, (__m512i)by);
}

INLINE Shorts widened_bytes(const int8_t *from) {
    return (Shorts)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)from));
}

INLINE Words widened(const int16_t *from) {
    return (Words)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)from));
}

INLINE Words add_products(Words sums, Words pairs, Words others) {
#ifdef __AVX512VNNI__
    return (Words)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)pairs, (__m512i)others);
#else
    return sums + (Words)_mm512_madd_epi16((__m512i)pairs, (__m512i)others);
#endif
}

INLINE Longs even_products(Words words, Words factors) {
    return (Longs)_mm512_mul_epi32((__m512i)words, (__m512i)factors);
}

INLINE Longs odd_products(Words words, Words factors) {
    return (Longs)_mm512_mul_epi32(_mm512_srli_epi64((__m512i)words, 32), (__m512i)factors);
}

INLINE Words interleaved(Longs even, Longs odd) {
    return (Words)_mm512_mask_blend_epi32(0xAAAA, (__m512i)even, (__m512i)odd);
}

INLINE Pairs paired(Shorts one, Shorts other) {
    return (Pairs){(Words)_mm512_unpacklo_epi16((__m512i)one, (__m512i)other),
                   (Words)_mm512_unpackhi_epi16((__m512i)one, (__m512i)other)};
}

INLINE Words paired_half(Shorts one, Shorts other) {
    __m512i a = _mm512_cvtepu16_epi32(_mm512_castsi512_si256((__m512i)one));
    __m512i b = _mm512_cvtepu16_epi32(_mm512_castsi512_si256((__m512i)other));
    return (Words)_mm512_or_si512(a, _mm512_slli_epi32(b, 16));
}

INLINE Shorts packed(Words low, Words high) {
    return (Shorts)_mm512_packs_epi32((__m512i)low, (__m512i)high);
}

INLINE Shorts packed_half(Words words) {
    return (Shorts)_mm512_castsi256_si512(_mm512_cvtsepi32_epi16((__m512i)words));
}

INLINE void store_some(int16_t *to, Shorts values, ptrdiff_t count) {
    if (count >= SHORTS)
        *(Shorts *)to = values;
    else
        _mm512_mask_storeu_epi16(to, (__mmask32)(((uint32_t)1 << count) - 1), (__m512i)values);
}

INLINE void store_half(int16_t *to, Shorts values, ptrdiff_t count) {
    if (count >= WORDS)
        _mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256((__m512i)values));
    else
        store_some(to, values, count);
}

INLINE Shorts mask_of(uint32_t bits) {
    return (Shorts)_mm512_movm_epi16((__mmask32)bits);
}

INLINE Words add_where(Words words, uint32_t bits, Words more) {
    return (Words)_mm512_mask_add_epi32((__m512i)words, (__mmask16)bits, (__m512i)words, (__m512i)more);
}
