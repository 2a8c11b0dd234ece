/* The update of weights by back-propagation in the format bfp8: docs/arithmetic.md, section 7. */
#include "kernels/updates.h"

#include "arith/integers.h"
#include "arith/psto_shift.h"
#include "kernels/dsp.h"
#include "kernels/requantize.h"

#if KERNELS_DSP

/* PstoShift by s >= 1, taken apart: h = floor(s / 2). */
typedef struct {
    uint32_t h, up; /* up = s - h */
    uint32_t low;   /* mask of the lowest h bits of a magnitude, `lo` */
    uint32_t times; /* 2 for odd s, where `lo` counts twice; else 1 */
    uint32_t full;  /* 2^up - 1 */
} psto_t;

/* Adding 2^up - 1 - lo to m >> h carries into bit `up` where the bits from h to s of m are greater than lo. For
   gradients that have been measured the result is at most 128. */
static inline uint32_t rounded(int32_t x, const psto_t *psto) {
    const uint32_t sign = (uint32_t)(x >> 31);
    const uint32_t m = ((uint32_t)x ^ sign) - sign;
    const uint32_t carried = (m >> psto->h) + psto->full - (m & psto->low) * psto->times;
    return (hold_u7(carried >> psto->up) ^ sign) - sign;
}

static void update_fours(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t s) {
    const uint32_t h = (uint32_t)s / 2, up = (uint32_t)s - h;
    const psto_t psto = {.low = (1u << h) - 1, .h = h, .up = up, .full = (1u << up) - 1, .times = s % 2 != 0 ? 2 : 1};
    for (const int32_t *end = gradient + n; gradient != end; weights += 4) {
        int32_t g[4];
        gradient = take_four(gradient, g);
        const uint32_t even = low_lanes(rounded(g[0], &psto), rounded(g[2], &psto));
        const uint32_t odd = low_lanes(rounded(g[1], &psto), rounded(g[3], &psto));
        const uint32_t w = subtract_bytes(load_word(weights), lanes_to_bytes(even, odd));
        store_word(weights, add_bytes(subtract_bytes(w, 0x01010101u), 0x01010101u)); /* -128 comes back to -127 */
    }
}

/* Returns how many weights are updated: whole fours. */
static uint32_t update_most(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b, int32_t s) {
    (void)b;
    const uint32_t fours = s < 1 ? 0 : n / 4 * 4;
    if (fours > 0) {
        update_fours(weights, gradient, fours, s);
    }
    return fours;
}

#elif KERNELS_THUMB1

/* PstoShift by s >= 1 of a magnitude m < 2^31. For an odd s the lower half of the dropped bits counts twice, so that 2
   m shifted by s + 1 rounds as m shifted by s: both halves have `half` = (s + 1) / 2 bits, m is shifted left by `odd`.
   Adding 2^half - 1 - lo to m >> half carries into bit `half` where the upper dropped bits are greater than the lower,
   lo. */
#if defined(__ARM_ARCH_6M__) && !defined(KERNELS_THUMB1_IN_C)

/* 27 instructions a weight, 16 where the gradient rounds to 0, as most do: a weight is never -128 and stays as it is.
   r0 the weights, r1 the gradients, r2 m, r3 its sign, r4 free, r5 2^half - 1, r6 half, r7 odd, r8 the end of the
   gradients, r9 127, r12 254. On the stack: +28 odd. At least one gradient. */
__attribute__((naked)) static void update(int8_t *weights, const int32_t *gradient, uint32_t n, uint32_t half,
                                          uint32_t odd) {
    __asm__(
        ".syntax unified\n"
        "push {r4-r7, lr}\n mov r4, r8\n mov r5, r9\n"
        "push {r4, r5}\n"
        "ldr r7, [sp, #28]\n lsls r2, r2, #2\n adds r2, r2, r1\n"
        "mov r8, r2\n movs r2, #127\n"
        "mov r9, r2\n movs r2, #254\n"
        "mov r12, r2\n movs r6, r3\n movs r5, #1\n lsls r5, r6\n"
        "subs r5, r5, #1\n"
        "1:\n ldm r1!, {r2}\n asrs r3, r2, #31\n adds r2, r2, r3\n eors r2, r3\n"
        "lsls r2, r7\n movs r4, r2\n ands r4, r5\n lsrs r2, r6\n"
        "adds r2, r2, r5\n subs r2, r2, r4\n lsrs r2, r6\n beq 3f\n"
        "lsrs r4, r2, #7\n" /* 128 becomes 127 */
        "subs r2, r2, r4\n eors r2, r3\n subs r2, r2, r3\n movs r4, #0\n"
        "ldrsb r4, [r0, r4]\n subs r4, r4, r2\n add r4, r9\n"
        "cmp r4, r12\n bhi 4f\n"
        "2:\n subs r4, #127\n strb r4, [r0]\n"
        "3:\n adds r0, r0, #1\n"
        "cmp r1, r8\n bne 1b\n"
        "pop {r4, r5}\n mov r8, r4\n mov r9, r5\n"
        "pop {r4-r7, pc}\n"
        "4:\n" /* beyond -127 or 127 */
        "asrs r3, r4, #31\n mov r4, r12\n bics r4, r3\n"
        "b 2b\n");
}

#else

static void update(int8_t *weights, const int32_t *gradient, uint32_t n, uint32_t half, uint32_t odd) {
    const uint32_t full = (1u << half) - 1;
    for (const int32_t *const end = gradient + n; gradient != end; gradient++, weights++) {
        const uint32_t m = magnitude(*gradient) << odd;
        const uint32_t rounded = ((m >> half) + full - (m & full)) >> half;
        const int32_t g = (int32_t)(rounded - (rounded >> 7)); /* 128 becomes 127 */
        *weights = (int8_t)clip127(*weights - (*gradient < 0 ? -g : g));
    }
}

#endif

static uint32_t update_most(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b, int32_t s) {
    if (s < 1 || b >= 32) {
        return 0;
    }
    update(weights, gradient, n, (uint32_t)(s + 1) / 2, (uint32_t)s % 2);
    return n;
}

#else

static uint32_t update_most(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b, int32_t s) {
    (void)weights, (void)gradient, (void)n, (void)b, (void)s;
    return 0;
}

#endif

void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp) {
    const int32_t b = largest_bits_s32(gradient, n), s = b - b_bp;
    for (uint32_t i = b == 0 ? n : update_most(weights, gradient, n, b, s); i < n; i++) {
        const int32_t g = s < 1 ? gradient[i] : psto_shift(gradient[i], s);
        weights[i] = (int8_t)clip127(weights[i] - g);
    }
}
