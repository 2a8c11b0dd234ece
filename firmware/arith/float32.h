/* binary32 without a library: docs/arithmetic.md, section 5; docs/arithmetic-qzo-ff.md, section 1. Sources that include
   this are compiled with -ffp-contract=off. */
#pragma once

#include <float.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "The arithmetic of the networks needs every float operation rounded by itself: compile without -ffast-math."
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "binary32 expressions must be evaluated in binary32");

static inline uint32_t float32_bits(float x) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static inline float float32_from_bits(uint32_t word) {
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static inline int float32_is_minus_zero(float x) {
    return float32_bits(x) == 0x80000000u;
}

/* e^x for x <= 0; 0 below -87. */
float exp32(float x);

/* The natural logarithm of a normal x > 0. */
float log32(float x);

/* The smaller and the larger of two numbers, of which +0 and -0 are the same: VMINNM and VMAXNM on Cortex-M7. */
static inline float float32_least(float a, float b) {
#if defined(CORTEX_M7)
    __asm__("vminnm.f32 %0, %0, %1" : "+t"(a) : "t"(b));
    return a;
#else
    return a > b ? b : a;
#endif
}

static inline float float32_most(float a, float b) {
#if defined(CORTEX_M7)
    __asm__("vmaxnm.f32 %0, %0, %1" : "+t"(a) : "t"(b));
    return a;
#else
    return a < b ? b : a;
#endif
}

/* x held in least..most, which are not 0. */
static inline float float32_hold(float x, float least, float most) {
    return float32_least(float32_most(x, least), most);
}

/* x rounded to an integer, half to even, for |x| < 2^22: the sum has no bits left for a fraction. */
static inline float float32_round(float x) {
    const float shift = 0x1.8p23f;
    const float sum = x + shift;
    return sum - shift;
}

/* 2^k for k in -126..127. */
static inline float float32_power_of_two(int32_t k) {
    return float32_from_bits((uint32_t)(k + 127) << 23);
}

/* The correctly rounded square root of a finite x >= 0. */
float sqrt32(float x);

/* The nearest integer, half to even, of |x| <= 2^30. */
int32_t float32_to_integer(float x);

/* The same of |x| < 2^63. */
int64_t float32_to_s64(float x);

/* The nearest number, half to even. A library may round twice. */
float float32_of_u64(uint64_t x);
