#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/clip127.h"
#include "arith/psto_shift.h"
#include "kernels/requantize.h"
#include "kernels/updates.h"

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

void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp) {
    const int32_t b = largest_bits_s32(gradient, n);
    if (b == 0) {
        return;
    }
    const int32_t s = b - b_bp;
    const uint32_t fours = s < 1 ? 0 : n / 4 * 4;
    if (fours > 0) {
        update_fours(weights, gradient, fours, s);
    }
    for (uint32_t i = fours; i < n; i++) {
        const int32_t g = s < 1 ? gradient[i] : psto_shift(gradient[i], s);
        weights[i] = (int8_t)clip127(weights[i] - g);
    }
}

#endif
