#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/bits.h"
#include "arith/psto_shift.h"
#include "kernels/noise_dsp.h"
#include "kernels/zo_update_s8.h"

/* u for every z, at [z & 0xFF]: there are far fewer values than weights. */
typedef struct {
    uint8_t of[256];
} update_t;

static void fill_updates(update_t *update, int32_t r_max, int32_t sign, int32_t b_zo) {
    const int32_t s = bits((uint32_t)r_max) - b_zo;
    for (int32_t z = -r_max; z <= r_max; z++) {
        const int32_t u = s < 1 ? sign * z : psto_shift(sign * z, s);
        update->of[(uint32_t)z & 0xFFu] = (uint8_t)((uint32_t)u & 0xFFu);
    }
}

static inline uint32_t updates_of(const update_t *update, uint32_t z) {
    return (uint32_t)update->of[z & 0xFFu] | (uint32_t)update->of[z >> 8 & 0xFFu] << 8 | (uint32_t)update->of[z >> 16 & 0xFFu] << 16 |
           (uint32_t)update->of[z >> 24] << 24;
}

/* The limits in all bytes. */
typedef struct {
    uint32_t low, high;
} limits_t;

static inline uint32_t updated(uint32_t w, uint32_t z, const update_t *update, limits_t limits) {
    const uint32_t restored = hold_bytes(add_bytes(w, z), limits.low, limits.high);
    return hold_bytes(subtract_bytes(restored, updates_of(update, z)), limits.low, limits.high);
}

void zo_update_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t sign, int32_t b_zo, int32_t limit) {
    update_t update;
    fill_updates(&update, noise.r_max, sign, b_zo);
    const limits_t limits = {.low = four_times(-limit), .high = four_times(limit)};
    const noise4_t same = noise4_begin(&noise);
    for (; n >= 4; n -= 4, weights += 4) {
        store_word(weights, updated(load_word(weights), noise4_of(&same, noise_next(&noise)), &update, limits));
    }
    if (n > 0) {
        int8_t rest[4] = {0};
        memcpy(rest, weights, n);
        store_word(rest, updated(load_word(rest), noise4_of(&same, noise_next(&noise)), &update, limits));
        memcpy(weights, rest, n);
    }
}

#endif
