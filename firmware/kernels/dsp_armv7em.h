/* The functions of dsp.h in assembly, an instruction or two each (ARM DDI 0403E.e, A7.7). Private to dsp.h. */
#pragma once

#include <stdint.h>

/* type name(from a, ...), by instructions with the result in %0, and in %1, %2, ... what `name` takes, in its order. */
#define OF_ONE(type, name, instruction)                                                                                \
    static inline type name(type a) {                                                                                  \
        type result;                                                                                                   \
        __asm__(instruction : "=r"(result) : "r"(a));                                                                  \
        return result;                                                                                                 \
    }
#define OF_TWO(type, name, from, instruction)                                                                          \
    static inline type name(from a, from b) {                                                                          \
        type result;                                                                                                   \
        __asm__(instruction : "=r"(result) : "r"(a), "r"(b));                                                          \
        return result;                                                                                                 \
    }

/* int32_t name(int32_t sum, a, b), a sum in %0 with a and b in %1 and %2: in its own register, or in another one than
   the sum in %3, which stays. */
#define ONTO_SUM(name, from, instruction)                                                                              \
    static inline int32_t name(int32_t sum, from a, from b) {                                                          \
        __asm__(instruction : "+r"(sum) : "r"(a), "r"(b));                                                             \
        return sum;                                                                                                    \
    }
#define OF_SUM(name, from_a, from_b, instruction)                                                                      \
    static inline int32_t name(int32_t sum, from_a a, from_b b) {                                                      \
        int32_t result;                                                                                                \
        __asm__(instruction : "=r"(result) : "r"(a), "r"(b), "r"(sum));                                                \
        return result;                                                                                                 \
    }

/* For each byte or lane yes where a >= b, else no: a difference sets the flags that SEL reads. */
#define WHERE_AT_LEAST(name, difference)                                                                               \
    static inline uint32_t name(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {                                   \
        uint32_t chosen;                                                                                               \
        __asm__(difference " %0, %1, %2\n\tsel %0, %3, %4" : "=&r"(chosen) : "r"(a), "r"(b), "r"(yes), "r"(no));       \
        return chosen;                                                                                                 \
    }

/* Bytes 0 and 2 of a word in two lanes, or bytes 1 and 3: signed, unsigned. */
OF_ONE(uint32_t, even_lanes, "sxtb16 %0, %1")
OF_ONE(uint32_t, odd_lanes, "sxtb16 %0, %1, ror #8")
OF_ONE(uint32_t, even_lanes_u8, "uxtb16 %0, %1")
OF_ONE(uint32_t, odd_lanes_u8, "uxtb16 %0, %1, ror #8")

/* Both lanes held in -128..127, or, signed, in 0..255. A value held in 0..127; in int8; half of it, downwards, in int8. */
OF_ONE(uint32_t, hold_lanes_s8, "ssat16 %0, #8, %1")
OF_ONE(uint32_t, hold_lanes_u8, "usat16 %0, #8, %1")
OF_ONE(uint32_t, hold_u7, "usat %0, #7, %1")
OF_ONE(int32_t, as_byte, "ssat %0, #8, %1")
OF_ONE(int32_t, half_as_byte, "ssat %0, #8, %1, asr #1")

/* The low lanes of two words, and the high ones; of `a` in the low lane. */
OF_TWO(uint32_t, low_lanes, uint32_t, "pkhbt %0, %1, %2, lsl #16")
OF_TWO(uint32_t, high_lanes, uint32_t, "pkhtb %0, %2, %1, asr #16")

/* To both lanes of `a` bytes 0 and 2 of b, or 1 and 3: signed, unsigned. */
OF_TWO(uint32_t, add_even_lanes, uint32_t, "sxtab16 %0, %1, %2")
OF_TWO(uint32_t, add_odd_lanes, uint32_t, "sxtab16 %0, %1, %2, ror #8")
OF_TWO(uint32_t, add_even_lanes_u8, uint32_t, "uxtab16 %0, %1, %2")
OF_TWO(uint32_t, add_odd_lanes_u8, uint32_t, "uxtab16 %0, %1, %2, ror #8")

/* Sum and difference of both lanes: modulo 2^16, saturating to 16 bits. */
OF_TWO(uint32_t, add_lanes_s16, uint32_t, "sadd16 %0, %1, %2")
OF_TWO(uint32_t, subtract_lanes_s16, uint32_t, "ssub16 %0, %1, %2")
OF_TWO(uint32_t, add_lanes_saturating, uint32_t, "qadd16 %0, %1, %2")
OF_TWO(uint32_t, subtract_lanes_saturating, uint32_t, "qsub16 %0, %1, %2")

/* Of each byte: signed, saturating to -128..127; difference and sum modulo 2^8. */
OF_TWO(uint32_t, add_bytes, uint32_t, "qadd8 %0, %1, %2")
OF_TWO(uint32_t, subtract_bytes, uint32_t, "qsub8 %0, %1, %2")
OF_TWO(uint32_t, wrap_bytes, uint32_t, "usub8 %0, %1, %2")
OF_TWO(uint32_t, unwrap_bytes, uint32_t, "uadd8 %0, %1, %2")

/* The sum, saturating to 32 bits. The product of a low lane, or of a high one, with the low lane of `b`. */
OF_TWO(int32_t, add_saturating, int32_t, "qadd %0, %1, %2")
OF_TWO(int32_t, low_product, uint32_t, "smulbb %0, %1, %2")
OF_TWO(int32_t, high_product, uint32_t, "smultb %0, %1, %2")

/* The upper 32 bits of a product, rounded to nearest, a half upwards. floor((a * (2^32 + b) + 2^31) / 2^32), for results
   in int32. */
OF_TWO(int32_t, upper_product, int32_t, "smmulr %0, %1, %2")
OF_TWO(int32_t, add_high_product, int32_t, "smmlar %0, %1, %2, %1")

/* sum plus the products of both lanes; of the lower lanes; of the upper lane of `a` and the lower lane of b. */
ONTO_SUM(add_products, uint32_t, "smlad %0, %1, %2, %0")
ONTO_SUM(add_low_product, uint32_t, "smlabb %0, %1, %2, %0")
ONTO_SUM(add_top_product, uint32_t, "smlatb %0, %1, %2, %0")
OF_SUM(sum_of_low_product, uint32_t, uint32_t, "smlabb %0, %1, %2, %3")
OF_SUM(sum_of_top_product, uint32_t, uint32_t, "smlatb %0, %1, %2, %3")

/* sum plus the upper 32 bits of a product: downwards; to nearest, a half upwards. */
ONTO_SUM(add_upper_product, int32_t, "smmla %0, %1, %2, %0")
OF_SUM(sum_of_upper_product, int32_t, int32_t, "smmla %0, %1, %2, %3")
OF_SUM(sum_of_nearest_product, int32_t, int32_t, "smmlar %0, %1, %2, %3")

/* sum plus the upper 32 of the 48 bits of a product with a lower lane, or an upper one, downwards. */
OF_SUM(add_wide_low_product, int32_t, uint32_t, "smlawb %0, %1, %2, %3")
OF_SUM(add_wide_top_product, int32_t, uint32_t, "smlawt %0, %1, %2, %3")

/* Bytes: unsigned, signed; lanes: signed. */
WHERE_AT_LEAST(where_at_least_u8, "usub8")
WHERE_AT_LEAST(where_at_least_s8, "ssub8")
WHERE_AT_LEAST(where_lanes_at_least, "ssub16")

/* How far apart each two signed bytes are, unsigned: SEL takes the difference of one direction, or of the other. */
static inline uint32_t distances_s8(uint32_t a, uint32_t b) {
    uint32_t up, down;
    __asm__("usub8 %0, %3, %2\n\tssub8 %1, %2, %3\n\tsel %0, %1, %0" : "=&r"(down), "=&r"(up) : "r"(a), "r"(b));
    return down;
}

/* Both words' smaller lanes, signed, and the larger ones. */
static inline void order_lanes(uint32_t a, uint32_t b, uint32_t *smaller, uint32_t *larger) {
    __asm__("ssub16 %0, %2, %3\n\tsel %0, %3, %2\n\tsel %1, %2, %3" : "=&r"(*smaller), "=&r"(*larger) : "r"(a), "r"(b));
}

/* Each lane becomes that of `lanes` where that is smaller, signed, or larger. */
static inline void lower_lanes(uint32_t *least, uint32_t lanes) {
    uint32_t apart;
    __asm__("ssub16 %1, %2, %0\n\tsel %0, %0, %2" : "+r"(*least), "=&r"(apart) : "r"(lanes));
}

static inline void raise_lanes(uint32_t *most, uint32_t lanes) {
    uint32_t apart;
    __asm__("ssub16 %1, %2, %0\n\tsel %0, %2, %0" : "+r"(*most), "=&r"(apart) : "r"(lanes));
}

/* Two words of bytes, or four words, aligned to a word; all but load_two() return or move the pointer on: LDRD, STRD. */
static inline void load_two(const int8_t *bytes, uint32_t two[2]) {
    __asm__ volatile("ldrd %0, %1, [%2]" : "=&r"(two[0]), "=&r"(two[1]) : "r"(bytes) : "memory");
}

static inline const int8_t *next_two(const int8_t *bytes, uint32_t two[2]) {
    __asm__ volatile("ldrd %0, %1, [%2], #8" : "=&r"(two[0]), "=&r"(two[1]), "+&r"(bytes) : : "memory");
    return bytes;
}

static inline int8_t *put_two(int8_t *bytes, const uint32_t two[2]) {
    __asm__ volatile("strd %1, %2, [%0], #8" : "+r"(bytes) : "r"(two[0]), "r"(two[1]) : "memory");
    return bytes;
}

static inline const int32_t *take_four(const int32_t *words, int32_t four[4]) {
    __asm__ volatile("ldrd %0, %1, [%4], #8\n\tldrd %2, %3, [%4], #8"
                     : "=&r"(four[0]), "=&r"(four[1]), "=&r"(four[2]), "=&r"(four[3]), "+&r"(words)
                     :
                     : "memory");
    return words;
}

static inline int32_t *put_four(int32_t *words, const int32_t four[4]) {
    __asm__ volatile("strd %1, %2, [%0], #8\n\tstrd %3, %4, [%0], #8"
                     : "+r"(words)
                     : "r"(four[0]), "r"(four[1]), "r"(four[2]), "r"(four[3])
                     : "memory");
    return words;
}

/* Loads stay before or after this: the compiler would gather them where there are not the registers for it. */
static inline void hold_loads(void) {
    __asm__ volatile("" : : : "memory");
}
