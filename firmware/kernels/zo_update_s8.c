#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else zo_update_s8_dsp.c, zo_update_s8_m0.c */

#include "kernels/zo_update_s8.h"

#include "arith/bits.h"
#include "arith/clip127.h"
#include "arith/psto_shift.h"

/* u for every z, at [z + r_max]: there are far fewer values than weights. */
typedef struct {
    int8_t of[2 * 127 + 1];
} update_t;

static int32_t update_of(int32_t z, int32_t sign, int32_t s) {
    return s < 1 ? sign * z : psto_shift(sign * z, s);
}

static void fill_updates(update_t *update, int32_t r_max, int32_t sign, int32_t b_zo) {
    const int32_t s = bits((uint32_t)r_max) - b_zo;
    for (int32_t z = -r_max; z <= r_max; z++) {
        update->of[z + r_max] = (int8_t)update_of(z, sign, s);
    }
}

static inline void update_group(int8_t *weights, uint32_t n, noise_t *noise, const update_t *update, int32_t limit) {
    const noise_words_t words = noise_next(noise);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t z = noise_of(noise, words, i);
        const int32_t restored = clip(weights[i] + z, limit);
        weights[i] = (int8_t)clip(restored - update->of[z + noise->r_max], limit);
    }
}

void zo_update_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t sign, int32_t b_zo, int32_t limit) {
    update_t update;
    fill_updates(&update, noise.r_max, sign, b_zo);
    for (; n >= 4; n -= 4, weights += 4) {
        update_group(weights, 4, &noise, &update, limit);
    }
    if (n > 0) {
        update_group(weights, n, &noise, &update, limit);
    }
}

#endif
