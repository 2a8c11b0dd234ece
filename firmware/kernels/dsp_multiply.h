/* More instructions of Armv7E-M (ARM DDI 0403E.e, A7.7), in assembly and in C as in dsp.h. Private to the DSP kernels
   of the format tflite8. */
#pragma once

#include "kernels/dsp.h"

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)

/* sum plus the product of the lower lanes: SMLABB. */
static inline int32_t add_low_product(int32_t sum, uint32_t a, uint32_t b) {
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* sum plus the product of the upper lane of a and the lower lane of b: SMLATB. */
static inline int32_t add_top_product(int32_t sum, uint32_t a, uint32_t b) {
    __asm__("smlatb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* floor((x * (2^32 + m) + 2^31) / 2^32), for results in int32: SMMLAR. */
static inline int32_t add_high_product(int32_t x, int32_t m) {
    int32_t sum;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(sum) : "r"(x), "r"(m));
    return sum;
}

/* floor(x / 2), held in int8: SSAT. */
static inline int32_t half_as_byte(int32_t x) {
    int32_t byte;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(byte) : "r"(x));
    return byte;
}

/* The next two words, aligned; moves `words` on: LDRD. */
static inline void next_words(const uint32_t **words, uint32_t *a, uint32_t *b) {
    __asm__("ldrd %0, %1, [%2], #8" : "=&r"(*a), "=&r"(*b), "+r"(*words) : : "memory");
}

/* Loads stay before or after this: the compiler would gather them where there are not the registers for it. */
static inline void hold_loads(void) {
    __asm__ volatile("" : : : "memory");
}

#else

static inline int32_t add_low_product(int32_t sum, uint32_t a, uint32_t b) {
    return sum + (int16_t)(a & 0xFFFFu) * (int16_t)(b & 0xFFFFu);
}

static inline int32_t add_top_product(int32_t sum, uint32_t a, uint32_t b) {
    return sum + (int16_t)(a >> 16) * (int16_t)(b & 0xFFFFu);
}

static inline int32_t add_high_product(int32_t x, int32_t m) {
    return (int32_t)(((int64_t)x * (INT64_C(1) << 32) + (int64_t)x * m + (INT64_C(1) << 31)) >> 32);
}

static inline int32_t half_as_byte(int32_t x) {
    const int32_t half = x >> 1;
    return half > 127 ? 127 : half < -128 ? -128 : half;
}

static inline void next_words(const uint32_t **words, uint32_t *a, uint32_t *b) {
    *a = (*words)[0];
    *b = (*words)[1];
    *words += 2;
}

static inline void hold_loads(void) {
}

#endif
