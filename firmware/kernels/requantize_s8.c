/* Sums to values of 8 bits with a common exponent: docs/arithmetic.md, sections 1, 4 and 7. */
#include "kernels/requantize.h"

#include <stdbool.h>

#include "arith/integers.h"
#include "kernels/dsp.h"

#if KERNELS_DSP

/* The magnitude without a comparison: for x < 0 the bits of x - 1 are turned over. */
static inline uint32_t magnitude_of(int32_t x) {
    const uint32_t negative = (uint32_t)(x >> 31);
    return ((uint32_t)x + negative) ^ negative;
}

SEPARATE int32_t largest_bits_s32(const int32_t *values, uint32_t n) {
    uint32_t any = 0; /* its highest bit is the highest of the largest magnitude */
    const int32_t *const fours = values + n / 4 * 4, *const end = values + n;
    while (values != fours) {
        int32_t four[4];
        values = take_four(values, four);
        any |= magnitude_of(four[0]) | magnitude_of(four[1]);
        any |= magnitude_of(four[2]) | magnitude_of(four[3]);
    }
    for (; values != end; values++) {
        any |= magnitude(*values);
    }
    return bits(any);
}

#else

SEPARATE int32_t largest_bits_s32(const int32_t *values, uint32_t n) {
    uint32_t any = 0; /* its highest bit is the highest of the largest magnitude */
    for (uint32_t i = 0; i < n; i++) {
        any |= magnitude(values[i]);
    }
    return bits(any);
}

#endif

#if KERNELS_DSP

/* Four bytes from values of at most 128 in magnitude; 128 becomes 127. */
static inline uint32_t pack_clipped(const int32_t x[4]) {
    const uint32_t even = hold_lanes_s8(low_lanes((uint32_t)x[0], (uint32_t)x[2]));
    const uint32_t odd = hold_lanes_s8(low_lanes((uint32_t)x[1], (uint32_t)x[3]));
    const uint32_t bytes = lanes_to_bytes(even, odd); /* -128..127; the saturation on the way back takes -128 to -127 */
    return add_bytes(subtract_bytes(bytes, 0x01010101u), 0x01010101u);
}

/* RoundShift(x, s) without the clip is one SMMULR. x * 2^(32 - s) would be a shift that rounds a half upwards; x *
   (2^(32 - s) + 1) adds x to that product, which rounds a half of either sign away from zero and moves nothing else as
   long as |x| <= 2^(32 - s). As |x| < 2^(s + 7), that is so up to s = 12; above, one is taken from negative x. */
enum { LARGEST_EXACT = 12 };

static inline int32_t rounded(int32_t x, int32_t s, int32_t factor) {
    return upper_product(s <= LARGEST_EXACT ? x : x + (x >> 31), factor);
}

/* Groups of four up to `end`; s = 2 to 24, known to the compiler as at most LARGEST_EXACT or not. */
static inline void shift_fours(const int32_t *acc, const int32_t *end, int32_t s, int32_t factor, int8_t *out) {
    for (; acc != end; out += 4) {
        int32_t x[4];
        acc = take_four(acc, x);
        for (uint32_t i = 0; i < 4; i++) {
            x[i] = rounded(x[i], s, factor);
        }
        store_word(out, pack_clipped(x));
    }
}

static void shift_all(const int32_t *acc, uint32_t n, int32_t s, int8_t *out) {
    const uint32_t fours = s < 2 ? 0 : n / 4 * 4; /* 2^31 is no int32 */
    if (s <= LARGEST_EXACT) {
        shift_fours(acc, acc + fours, LARGEST_EXACT, (int32_t)((1u << (32 - (s < 2 ? 2 : s))) + 1u), out);
    } else {
        shift_fours(acc, acc + fours, LARGEST_EXACT + 1, (int32_t)(1u << (32 - s)), out);
    }
    for (uint32_t i = fours; i < n; i++) {
        out[i] = (int8_t)round_shift(acc[i], s);
    }
}

int32_t requantize_s8(const int32_t *acc, uint32_t n, int8_t *out) {
    const int32_t s = largest_bits_s32(acc, n) - 7;
    if (s <= 0) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = (int8_t)acc[i];
        }
        return 0;
    }
    shift_all(acc, n, s, out);
    return s;
}

#elif KERNELS_THUMB1

enum { SIX = 6 }; /* sums that the assembly takes at a time */

#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* A sum in `x` against r2, the largest magnitude so far, and r3, twice that: greater where x + r2 is, without sign. */
#define COMPARE(x, here, greater) "adds r4, " x ", r2\n cmp r4, r3\n bhi " greater "f\n" here ":\n"
#define GREATER(here, greater) greater ":\n bl 9f\n b " here "b\n"

/* The largest magnitude of `n` sums, n > 0 and a multiple of 6, no sum -2^31: 3.7 instructions a sum. */
__attribute__((naked)) static uint32_t largest_of_sixes(const int32_t *acc, uint32_t n) {
    __asm__(".syntax unified\n"
            "push {r4-r7, lr}\n lsls r1, r1, #2\n adds r1, r1, r0\n movs r2, #0\n"
            "movs r3, #0\n"
            "1:\n"
            "ldm r0!, {r5-r7}\n" COMPARE("r5", "11", "21") COMPARE("r6", "12", "22") COMPARE("r7", "13", "23")
            "ldm r0!, {r5-r7}\n" COMPARE("r5", "14", "24") COMPARE("r6", "15", "25") COMPARE("r7", "16", "26")
            "cmp r0, r1\n bne 1b\n"
            "movs r0, r2\n"
            "pop {r4-r7, pc}\n" /* the branches of COMPARE */
            GREATER("11", "21") GREATER("12", "22") GREATER("13", "23") GREATER("14", "24") GREATER("15", "25")
                GREATER("16", "26")
            "9:\n" /* r4 - r2 is the sum */
            "subs r2, r4, r2\n asrs r4, r2, #31\n adds r2, r2, r4\n eors r2, r4\n"
            "lsls r3, r2, #1\n"
            "bx lr\n");
}

/* round_half_away of arith/integers.h; the carry of the shift is the highest bit that it drops. */
#define ROUND(x, i)                                                                                                    \
    "asrs r7, " x ", #31\n adds " x ", " x ", r7\n asrs " x ", r2\n adcs " x ", r3\n strb " x ", [r1, #" i "]\n"

/* out = round_half_away(acc, s), `n` > 0 and a multiple of 6, all within 8 bits: 5.8 instructions a sum. */
__attribute__((naked)) static void round_sixes(const int32_t *acc, int8_t *out, int32_t s, uint32_t n) {
    __asm__(".syntax unified\n"
            "push {r4-r7, lr}\n adds r3, r3, r1\n"
            "mov r12, r3\n movs r3, #0\n"
            "1:\n"
            "ldm r0!, {r4-r6}\n" ROUND("r4", "0") ROUND("r5", "1") ROUND("r6", "2")
            "ldm r0!, {r4-r6}\n" ROUND("r4", "3") ROUND("r5", "4") ROUND("r6", "5")
            "adds r1, r1, #6\n"
            "cmp r1, r12\n bne 1b\n"
            "pop {r4-r7, pc}\n");
}

#else

static uint32_t largest_of_sixes(const int32_t *acc, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = magnitude(acc[i]) > largest ? magnitude(acc[i]) : largest;
    }
    return largest;
}

static void round_sixes(const int32_t *acc, int8_t *out, int32_t s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int8_t)round_half_away(acc[i], s);
    }
}

#endif

static uint32_t largest_magnitude(const int32_t *acc, uint32_t n) {
    const uint32_t sixes = n / SIX * SIX;
    uint32_t largest = sixes > 0 ? largest_of_sixes(acc, sixes) : 0;
    for (uint32_t i = sixes; i < n; i++) {
        const uint32_t m = magnitude(acc[i]);
        largest = m > largest ? m : largest;
    }
    return largest;
}

/* Whether the largest magnitude rounds to 128, so that clip127 has something to do: it does for few tensors. */
static bool clips(uint32_t largest, int32_t s) {
    return largest >> (s - 1) == 255;
}

int32_t requantize_s8(const int32_t *acc, uint32_t n, int8_t *out) {
    const uint32_t largest = largest_magnitude(acc, n);
    const int32_t s = bits(largest) - 7;
    if (s <= 0) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = (int8_t)acc[i];
        }
        return 0;
    }
    const uint32_t sixes = clips(largest, s) ? 0 : n / SIX * SIX;
    if (sixes > 0) {
        round_sixes(acc, out, s, sixes);
    }
    for (uint32_t i = sixes; i < n; i++) {
        out[i] = (int8_t)round_shift(acc[i], s);
    }
    return s;
}

#else

int32_t requantize_s8(const int32_t *acc, uint32_t n, int8_t *out) {
    const int32_t s = largest_bits_s32(acc, n) - 7;
    if (s <= 0) {
        for (uint32_t i = 0; i < n; i++) {
            out[i] = (int8_t)acc[i];
        }
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (int8_t)round_shift(acc[i], s);
    }
    return s;
}

#endif
