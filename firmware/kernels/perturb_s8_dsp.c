#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/noise_dsp.h"
#include "kernels/perturb_s8.h"

/* Four weights. Going -2 z in two steps saturates where one would: both go the same way. */
static inline uint32_t perturbed(uint32_t w, uint32_t z, int32_t k) {
    w = k > 0 ? add_bytes(w, z) : subtract_bytes(subtract_bytes(w, z), z);
    return where_at_least_s8(w, four_times(-127), w, four_times(-127));
}

static inline void perturb_all(int8_t *weights, uint32_t n, noise_t noise, int32_t k) {
    const noise4_t same = noise4_begin(&noise);
    for (; n >= 4; n -= 4, weights += 4) {
        store_word(weights, perturbed(load_word(weights), noise4_of(&same, noise_next(&noise)), k));
    }
    if (n > 0) {
        int8_t rest[4] = {0};
        memcpy(rest, weights, n);
        store_word(rest, perturbed(load_word(rest), noise4_of(&same, noise_next(&noise)), k));
        memcpy(weights, rest, n);
    }
}

void perturb_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t k) {
    if (k == 1) {
        perturb_all(weights, n, noise, 1); /* k is known to the compiler from here on */
    } else {
        perturb_all(weights, n, noise, -2);
    }
}

#endif
