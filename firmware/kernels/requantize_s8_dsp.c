#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/round_shift.h"
#include "kernels/requantize.h"

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

#endif
