/* The functions of dsp_armv7em.h in C, for a computer without those instructions. Private to dsp.h. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint32_t even_lanes(uint32_t word) {
    const uint32_t low = (uint32_t)(int8_t)(word & 0xFFu), high = (uint32_t)(int8_t)(word >> 16 & 0xFFu);
    return (low & 0xFFFFu) | high << 16;
}

static inline uint32_t odd_lanes(uint32_t word) {
    return even_lanes(word >> 8 | word << 24);
}

static inline uint32_t low_lanes(uint32_t a, uint32_t b) {
    return (a & 0xFFFFu) | b << 16;
}

static inline uint32_t high_lanes(uint32_t a, uint32_t b) {
    return a >> 16 | (b & 0xFFFF0000u);
}

static inline int32_t add_products(int32_t sum, uint32_t a, uint32_t b) {
    return sum + (int16_t)(a & 0xFFFFu) * (int16_t)(b & 0xFFFFu) + (int16_t)(a >> 16) * (int16_t)(b >> 16);
}

static inline int32_t upper_product(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + 0x80000000) >> 32);
}

static inline int32_t held_in_s8(int32_t value) {
    return value > 127 ? 127 : value < -128 ? -128 : value;
}

static inline uint32_t hold_lanes_s8(uint32_t lanes) {
    const int32_t low = held_in_s8((int16_t)(lanes & 0xFFFFu)), high = held_in_s8((int16_t)(lanes >> 16));
    return low_lanes((uint32_t)low, (uint32_t)high);
}

static inline uint32_t hold_lanes_u8(uint32_t lanes) {
    const int32_t low = (int16_t)(lanes & 0xFFFFu), high = (int16_t)(lanes >> 16);
    return low_lanes((uint32_t)(low < 0     ? 0
                                : low > 255 ? 255
                                            : low),
                     (uint32_t)(high < 0     ? 0
                                : high > 255 ? 255
                                             : high));
}

static inline uint32_t hold_u7(uint32_t value) {
    return (int32_t)value < 0 ? 0 : value > 127 ? 127 : value;
}

static inline uint32_t even_lanes_u8(uint32_t word) {
    return word & 0x00FF00FFu;
}

static inline uint32_t odd_lanes_u8(uint32_t word) {
    return word >> 8 & 0x00FF00FFu;
}

static inline const int32_t *take_four(const int32_t *words, int32_t four[4]) {
    memcpy(four, words, 4 * sizeof *words);
    return words + 4;
}

static inline void load_two(const int8_t *bytes, uint32_t two[2]) {
    memcpy(two, bytes, 2 * sizeof *two);
}

static inline const int8_t *next_two(const int8_t *bytes, uint32_t two[2]) {
    load_two(bytes, two);
    return bytes + 2 * sizeof *two;
}

static inline int8_t *put_two(int8_t *bytes, const uint32_t two[2]) {
    memcpy(bytes, two, 2 * sizeof *two);
    return bytes + 2 * sizeof *two;
}

static inline int32_t low_product(uint32_t a, uint32_t b) {
    return (int16_t)(a & 0xFFFFu) * (int16_t)(b & 0xFFFFu);
}

static inline int32_t high_product(uint32_t a, uint32_t b) {
    return (int16_t)(a >> 16) * (int16_t)(b & 0xFFFFu);
}

static inline int32_t add_upper_product(int32_t sum, int32_t a, int32_t b) {
    return sum + (int32_t)(((int64_t)a * b) >> 32);
}

static inline int32_t add_saturating(int32_t a, int32_t b) {
    const int64_t sum = (int64_t)a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

static inline int32_t *put_four(int32_t *words, const int32_t four[4]) {
    memcpy(words, four, 4 * sizeof *words);
    return words + 4;
}

static inline int32_t byte_of(uint32_t word, uint32_t i) {
    return (int8_t)(word >> (8 * i) & 0xFFu);
}

static inline uint32_t saturated_byte(int32_t value, uint32_t i) {
    return ((uint32_t)held_in_s8(value) & 0xFFu) << (8 * i);
}

static inline uint32_t add_bytes(uint32_t a, uint32_t b) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 4; i++) {
        sum |= saturated_byte(byte_of(a, i) + byte_of(b, i), i);
    }
    return sum;
}

static inline uint32_t subtract_bytes(uint32_t a, uint32_t b) {
    uint32_t difference = 0;
    for (uint32_t i = 0; i < 4; i++) {
        difference |= saturated_byte(byte_of(a, i) - byte_of(b, i), i);
    }
    return difference;
}

static inline uint32_t wrap_bytes(uint32_t a, uint32_t b) {
    uint32_t difference = 0;
    for (uint32_t i = 0; i < 4; i++) {
        difference |= (((a >> (8 * i)) - (b >> (8 * i))) & 0xFFu) << (8 * i);
    }
    return difference;
}

static inline uint32_t unwrap_bytes(uint32_t a, uint32_t b) {
    return wrap_bytes(a, wrap_bytes(0, b));
}

static inline uint32_t where_at_least_u8(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 4; i++) {
        mask |= (a >> (8 * i) & 0xFFu) >= (b >> (8 * i) & 0xFFu) ? 0xFFu << (8 * i) : 0;
    }
    return (yes & mask) | (no & ~mask);
}

static inline uint32_t where_at_least_s8(uint32_t a, uint32_t b, uint32_t yes, uint32_t no) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 4; i++) {
        mask |= byte_of(a, i) >= byte_of(b, i) ? 0xFFu << (8 * i) : 0;
    }
    return (yes & mask) | (no & ~mask);
}
