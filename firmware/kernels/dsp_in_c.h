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
