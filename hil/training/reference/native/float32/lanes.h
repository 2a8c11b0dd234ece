/* Vectors of LANES binary32 numbers: the same number of as many samples, whose operations are each sample's own. */
#pragma once

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0
#error "operations on float are not rounded to float here"
#endif
#if !defined __AVX2__
#error "this processor has neither AVX2 nor AVX-512"
#endif
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#ifdef __AVX512F__
enum { LANES = 16 };
#define LANE ((Words){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#else
enum { LANES = 8 };
#define LANE ((Words){0, 1, 2, 3, 4, 5, 6, 7})
#endif

typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t Masks __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* The limits of a layer's output, or of its input's error. */
typedef struct {
    float low, high;
} Limits;

INLINE Floats load(const float *from) {
    return *(const Floats *)from;
}

INLINE void store(float *to, Floats values) {
    *(Floats *)to = values;
}

/* Of a NaN and of zeros of both signs, which no layer gives, `larger` and `smaller` return the second. */
#ifdef __AVX512F__
INLINE Floats all(float value) {
    return (Floats)_mm512_set1_ps(value);
}

INLINE Floats larger(Floats one, Floats other) {
    return (Floats)_mm512_max_ps((__m512)one, (__m512)other);
}

INLINE Floats smaller(Floats one, Floats other) {
    return (Floats)_mm512_min_ps((__m512)one, (__m512)other);
}
#else
INLINE Floats all(float value) {
    return (Floats)_mm256_set1_ps(value);
}

INLINE Floats larger(Floats one, Floats other) {
    return (Floats)_mm256_max_ps((__m256)one, (__m256)other);
}

INLINE Floats smaller(Floats one, Floats other) {
    return (Floats)_mm256_min_ps((__m256)one, (__m256)other);
}
#endif

INLINE Floats clamped(Floats values, Limits limits) {
    return smaller(larger(values, all(limits.low)), all(limits.high));
}
