/* More instructions of Armv7E-M (ARM DDI 0403E.e, A7.7), in assembly and in C as in dsp.h. Private to the DSP kernels
   of the format tflite8. */
#pragma once

#include "kernels/dsp.h"

/* A lane as a number. */
static inline int32_t lane_s16(uint32_t word, uint32_t i) {
    return (int16_t)(word >> (16 * i) & 0xFFFFu);
}

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

/* The same, where `a` stays. */
static inline int32_t sum_of_low_product(int32_t a, uint32_t b, uint32_t c) {
    int32_t sum;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(sum) : "r"(b), "r"(c), "r"(a));
    return sum;
}

static inline int32_t sum_of_top_product(int32_t a, uint32_t b, uint32_t c) {
    int32_t sum;
    __asm__("smlatb %0, %1, %2, %3" : "=r"(sum) : "r"(b), "r"(c), "r"(a));
    return sum;
}

/* floor((x * (2^32 + m) + 2^31) / 2^32), for results in int32: SMMLAR. */
static inline int32_t add_high_product(int32_t x, int32_t m) {
    int32_t sum;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(sum) : "r"(x), "r"(m));
    return sum;
}

/* a plus the upper 32 bits of a product, downwards, where `a` stays: SMMLA. */
static inline int32_t sum_of_upper_product(int32_t a, int32_t b, int32_t c) {
    int32_t sum;
    __asm__("smmla %0, %1, %2, %3" : "=r"(sum) : "r"(b), "r"(c), "r"(a));
    return sum;
}

/* The same, rounded to nearest, a half upwards: SMMLAR. */
static inline int32_t sum_of_nearest_product(int32_t a, int32_t b, int32_t c) {
    int32_t sum;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(sum) : "r"(b), "r"(c), "r"(a));
    return sum;
}

/* sum plus the upper 32 of the 48 bits of a product with a lower lane, or an upper one, downwards: SMLAWB, SMLAWT. */
static inline int32_t add_wide_low_product(int32_t sum, int32_t a, uint32_t b) {
    int32_t total;
    __asm__("smlawb %0, %1, %2, %3" : "=r"(total) : "r"(a), "r"(b), "r"(sum));
    return total;
}

static inline int32_t add_wide_top_product(int32_t sum, int32_t a, uint32_t b) {
    int32_t total;
    __asm__("smlawt %0, %1, %2, %3" : "=r"(total) : "r"(a), "r"(b), "r"(sum));
    return total;
}

/* The value held in int8: SSAT. */
static inline int32_t as_byte(int32_t x) {
    int32_t byte;
    __asm__("ssat %0, #8, %1" : "=r"(byte) : "r"(x));
    return byte;
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

/* To both lanes, signed bytes 0 and 2 of a word, or 1 and 3: SXTAB16. */
static inline uint32_t add_even_lanes(uint32_t lanes, uint32_t word) {
    uint32_t sum;
    __asm__("sxtab16 %0, %1, %2" : "=r"(sum) : "r"(lanes), "r"(word));
    return sum;
}

static inline uint32_t add_odd_lanes(uint32_t lanes, uint32_t word) {
    uint32_t sum;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(sum) : "r"(lanes), "r"(word));
    return sum;
}

/* The same of unsigned bytes: UXTAB16. */
static inline uint32_t add_even_lanes_u8(uint32_t lanes, uint32_t word) {
    uint32_t sum;
    __asm__("uxtab16 %0, %1, %2" : "=r"(sum) : "r"(lanes), "r"(word));
    return sum;
}

static inline uint32_t add_odd_lanes_u8(uint32_t lanes, uint32_t word) {
    uint32_t sum;
    __asm__("uxtab16 %0, %1, %2, ror #8" : "=r"(sum) : "r"(lanes), "r"(word));
    return sum;
}

/* How far apart each two signed bytes are, unsigned: SSUB8 sets the flags by which SEL takes its difference, or that of
   USUB8 in the other direction. */
static inline uint32_t distances_s8(uint32_t a, uint32_t b) {
    uint32_t up, down;
    __asm__("usub8 %0, %3, %2\n\tssub8 %1, %2, %3\n\tsel %0, %1, %0" : "=&r"(down), "=&r"(up) : "r"(a), "r"(b));
    return down;
}

/* Both lanes added, modulo 2^16: SADD16. */
static inline uint32_t add_lanes_s16(uint32_t a, uint32_t b) {
    uint32_t sum;
    __asm__("sadd16 %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The difference: SSUB16. */
static inline uint32_t subtract_lanes_s16(uint32_t a, uint32_t b) {
    uint32_t difference;
    __asm__("ssub16 %0, %1, %2" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

/* Both, saturating to 16 bits: QADD16, QSUB16. */
static inline uint32_t subtract_lanes_saturating(uint32_t a, uint32_t b) {
    uint32_t difference;
    __asm__("qsub16 %0, %1, %2" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

static inline uint32_t add_lanes_saturating(uint32_t a, uint32_t b) {
    uint32_t sum;
    __asm__("qadd16 %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* For each lane yes where a >= b, signed, else no: SSUB16 sets the flags that SEL reads. */
static inline uint32_t where_lanes_at_least(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
    uint32_t chosen;
    __asm__("ssub16 %0, %1, %2\n\tsel %0, %3, %4" : "=&r"(chosen) : "r"(a), "r"(b), "r"(yes), "r"(no));
    return chosen;
}

/* Both words' smaller lanes, signed, and the larger ones: SSUB16, and SEL twice. */
static inline void order_lanes(uint32_t a, uint32_t b, uint32_t *smaller, uint32_t *larger) {
    __asm__("ssub16 %0, %2, %3\n\tsel %0, %3, %2\n\tsel %1, %2, %3" : "=&r"(*smaller), "=&r"(*larger) : "r"(a), "r"(b));
}

/* Each lane becomes that of `lanes` where that is smaller, signed, or larger: SSUB16, SEL. */
static inline void lower_lanes(uint32_t *least, uint32_t lanes) {
    uint32_t apart;
    __asm__("ssub16 %1, %2, %0\n\tsel %0, %0, %2" : "+r"(*least), "=&r"(apart) : "r"(lanes));
}

static inline void raise_lanes(uint32_t *most, uint32_t lanes) {
    uint32_t apart;
    __asm__("ssub16 %1, %2, %0\n\tsel %0, %2, %0" : "+r"(*most), "=&r"(apart) : "r"(lanes));
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

static inline int32_t sum_of_low_product(int32_t a, uint32_t b, uint32_t c) {
    return add_low_product(a, b, c);
}

static inline int32_t sum_of_top_product(int32_t a, uint32_t b, uint32_t c) {
    return add_top_product(a, b, c);
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

static inline int32_t sum_of_upper_product(int32_t a, int32_t b, int32_t c) {
    return add_upper_product(a, b, c);
}

static inline int32_t sum_of_nearest_product(int32_t a, int32_t b, int32_t c) {
    return a + upper_product(b, c);
}

static inline int32_t as_byte(int32_t x) {
    return held_in_s8(x);
}

static inline int32_t add_wide_low_product(int32_t sum, int32_t a, uint32_t b) {
    return sum + (int32_t)(((int64_t)a * lane_s16(b, 0)) >> 16);
}

static inline int32_t add_wide_top_product(int32_t sum, int32_t a, uint32_t b) {
    return sum + (int32_t)(((int64_t)a * lane_s16(b, 1)) >> 16);
}

static inline uint32_t add_lanes_s16(uint32_t a, uint32_t b) {
    return low_lanes(a + b, (a >> 16) + (b >> 16));
}

static inline uint32_t subtract_lanes_s16(uint32_t a, uint32_t b) {
    return low_lanes(a - b, (a >> 16) - (b >> 16));
}

static inline uint32_t add_even_lanes(uint32_t lanes, uint32_t word) {
    return add_lanes_s16(lanes, even_lanes(word));
}

static inline uint32_t add_odd_lanes(uint32_t lanes, uint32_t word) {
    return add_lanes_s16(lanes, odd_lanes(word));
}

static inline uint32_t add_even_lanes_u8(uint32_t lanes, uint32_t word) {
    return add_lanes_s16(lanes, even_lanes_u8(word));
}

static inline uint32_t add_odd_lanes_u8(uint32_t lanes, uint32_t word) {
    return add_lanes_s16(lanes, odd_lanes_u8(word));
}

static inline uint32_t distances_s8(uint32_t a, uint32_t b) {
    return where_at_least_s8(a, b, wrap_bytes(a, b), wrap_bytes(b, a));
}

static inline int32_t held_in_s16(int32_t value) {
    return value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value;
}

static inline uint32_t add_lanes_saturating(uint32_t a, uint32_t b) {
    return low_lanes((uint32_t)held_in_s16(lane_s16(a, 0) + lane_s16(b, 0)),
                     (uint32_t)held_in_s16(lane_s16(a, 1) + lane_s16(b, 1)));
}

static inline uint32_t subtract_lanes_saturating(uint32_t a, uint32_t b) {
    return low_lanes((uint32_t)held_in_s16(lane_s16(a, 0) - lane_s16(b, 0)),
                     (uint32_t)held_in_s16(lane_s16(a, 1) - lane_s16(b, 1)));
}

static inline uint32_t where_lanes_at_least(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
    const uint32_t low = lane_s16(a, 0) >= lane_s16(b, 0) ? yes : no,
                   high = lane_s16(a, 1) >= lane_s16(b, 1) ? yes : no;
    return low_lanes(low, high >> 16);
}

static inline void order_lanes(uint32_t a, uint32_t b, uint32_t *smaller, uint32_t *larger) {
    *smaller = where_lanes_at_least(a, b, b, a);
    *larger = where_lanes_at_least(a, b, a, b);
}

static inline void lower_lanes(uint32_t *least, uint32_t lanes) {
    *least = where_lanes_at_least(lanes, *least, *least, lanes);
}

static inline void raise_lanes(uint32_t *most, uint32_t lanes) {
    *most = where_lanes_at_least(lanes, *most, lanes, *most);
}

static inline void hold_loads(void) {
}

#endif
