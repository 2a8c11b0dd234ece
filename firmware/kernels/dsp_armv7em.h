/* The functions of dsp.h in assembly (ARM DDI 0403E.e, A7.7). Private to dsp.h. */
#pragma once

#include <stdint.h>

/* Bytes 0 and 2 of a word, signed, in two lanes: SXTB16. */
static inline uint32_t even_lanes(uint32_t word) {
    uint32_t lanes;
    __asm__("sxtb16 %0, %1" : "=r"(lanes) : "r"(word));
    return lanes;
}

/* Bytes 1 and 3. */
static inline uint32_t odd_lanes(uint32_t word) {
    uint32_t lanes;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(lanes) : "r"(word));
    return lanes;
}

/* The low lanes of two words, and the high ones; of `a` in the low lane: PKHBT, PKHTB. */
static inline uint32_t low_lanes(uint32_t a, uint32_t b) {
    uint32_t lanes;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(lanes) : "r"(a), "r"(b));
    return lanes;
}

static inline uint32_t high_lanes(uint32_t a, uint32_t b) {
    uint32_t lanes;
    __asm__("pkhtb %0, %2, %1, asr #16" : "=r"(lanes) : "r"(a), "r"(b));
    return lanes;
}

/* sum plus the products of both lanes: SMLAD. */
static inline int32_t add_products(int32_t sum, uint32_t a, uint32_t b) {
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The upper 32 bits of a product, rounded to nearest, a half upwards: SMMULR. */
static inline int32_t upper_product(int32_t a, int32_t b) {
    int32_t upper;
    __asm__("smmulr %0, %1, %2" : "=r"(upper) : "r"(a), "r"(b));
    return upper;
}

/* Both lanes held in -128..127: SSAT16. */
static inline uint32_t hold_lanes_s8(uint32_t lanes) {
    uint32_t held;
    __asm__("ssat16 %0, #8, %1" : "=r"(held) : "r"(lanes));
    return held;
}

/* Both lanes, signed, held in 0..255: USAT16. */
static inline uint32_t hold_lanes_u8(uint32_t lanes) {
    uint32_t held;
    __asm__("usat16 %0, #8, %1" : "=r"(held) : "r"(lanes));
    return held;
}

/* The value held in 0..127: USAT. */
static inline uint32_t hold_u7(uint32_t value) {
    uint32_t held;
    __asm__("usat %0, #7, %1" : "=r"(held) : "r"(value));
    return held;
}

/* Bytes 0 and 2 of a word, unsigned, in two lanes: UXTB16. */
static inline uint32_t even_lanes_u8(uint32_t word) {
    uint32_t lanes;
    __asm__("uxtb16 %0, %1" : "=r"(lanes) : "r"(word));
    return lanes;
}

/* Bytes 1 and 3. */
static inline uint32_t odd_lanes_u8(uint32_t word) {
    uint32_t lanes;
    __asm__("uxtb16 %0, %1, ror #8" : "=r"(lanes) : "r"(word));
    return lanes;
}

/* The next four words, and the pointer after them: LDRD. */
static inline const int32_t *take_four(const int32_t *words, int32_t four[4]) {
    __asm__ volatile("ldrd %0, %1, [%4], #8\n\tldrd %2, %3, [%4], #8"
                     : "=&r"(four[0]), "=&r"(four[1]), "=&r"(four[2]), "=&r"(four[3]), "+&r"(words)
                     :
                     : "memory");
    return words;
}

/* Two words of bytes, aligned to a word; put_two() returns the pointer after them: LDRD, STRD. */
static inline void load_two(const int8_t *bytes, uint32_t two[2]) {
    __asm__ volatile("ldrd %0, %1, [%2]" : "=&r"(two[0]), "=&r"(two[1]) : "r"(bytes) : "memory");
}

/* The same, and the pointer after them. */
static inline const int8_t *next_two(const int8_t *bytes, uint32_t two[2]) {
    __asm__ volatile("ldrd %0, %1, [%2], #8" : "=&r"(two[0]), "=&r"(two[1]), "+&r"(bytes) : : "memory");
    return bytes;
}

static inline int8_t *put_two(int8_t *bytes, const uint32_t two[2]) {
    __asm__ volatile("strd %1, %2, [%0], #8" : "+r"(bytes) : "r"(two[0]), "r"(two[1]) : "memory");
    return bytes;
}

/* The product of a low lane, or of a high one, with the low lane of `b`: SMULBB, SMULTB. */
static inline int32_t low_product(uint32_t a, uint32_t b) {
    int32_t product;
    __asm__("smulbb %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

static inline int32_t high_product(uint32_t a, uint32_t b) {
    int32_t product;
    __asm__("smultb %0, %1, %2" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

/* sum plus the upper 32 bits of a product, downwards: SMMLA. */
static inline int32_t add_upper_product(int32_t sum, int32_t a, int32_t b) {
    __asm__("smmla %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The sum, saturating to 32 bits: QADD. */
static inline int32_t add_saturating(int32_t a, int32_t b) {
    int32_t sum;
    __asm__("qadd %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* Store four words; returns the pointer after them: STRD. */
static inline int32_t *put_four(int32_t *words, const int32_t four[4]) {
    __asm__ volatile("strd %1, %2, [%0], #8\n\tstrd %3, %4, [%0], #8"
                     : "+r"(words)
                     : "r"(four[0]), "r"(four[1]), "r"(four[2]), "r"(four[3])
                     : "memory");
    return words;
}

/* Signed bytes, saturating to -128..127: QADD8, QSUB8. */
static inline uint32_t add_bytes(uint32_t a, uint32_t b) {
    uint32_t sum;
    __asm__("qadd8 %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

static inline uint32_t subtract_bytes(uint32_t a, uint32_t b) {
    uint32_t difference;
    __asm__("qsub8 %0, %1, %2" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

/* a - b for each byte by itself, modulo 2^8: USUB8. */
static inline uint32_t wrap_bytes(uint32_t a, uint32_t b) {
    uint32_t difference;
    __asm__("usub8 %0, %1, %2" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

/* a + b in the same way: UADD8. */
static inline uint32_t unwrap_bytes(uint32_t a, uint32_t b) {
    uint32_t sum;
    __asm__("uadd8 %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* For each byte yes where a >= b, unsigned, else no: USUB8 sets the flags that SEL reads. */
static inline uint32_t where_at_least_u8(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
    uint32_t chosen;
    __asm__("usub8 %0, %1, %2\n\tsel %0, %3, %4" : "=&r"(chosen) : "r"(a), "r"(b), "r"(yes), "r"(no));
    return chosen;
}

/* The same for signed bytes: SSUB8. */
static inline uint32_t where_at_least_s8(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
    uint32_t chosen;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %3, %4" : "=&r"(chosen) : "r"(a), "r"(b), "r"(yes), "r"(no));
    return chosen;
}
