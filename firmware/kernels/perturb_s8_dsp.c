#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/noise_dsp.h"
#include "kernels/perturb_s8.h"

#define ONES 0x01010101u

/* Four weights moved by z, with z - 1 given, or by -2 z, with z given. Where the sum less one saturates at -128, adding the one
   gives -127; 127 stays with it. Going -2 z in two steps saturates where one would: both go the same way. */
static inline uint32_t perturbed(uint32_t w, uint32_t z, int32_t k) {
    w = k > 0 ? add_bytes(w, z) : subtract_bytes(subtract_bytes(subtract_bytes(w, z), z), ONES);
    return add_bytes(w, ONES);
}

static inline void perturb_group(int8_t *weights, const noise4_t *same, noise_t *noise, int32_t k) {
    store_word(weights, perturbed(load_word(weights), noise4_of(same, noise_next(noise)), k));
}

static inline void perturb_all(int8_t *weights, uint32_t n, noise_t noise, int32_t k) {
    const noise4_t same = noise4_begin(&noise, k > 0 ? 1 : 0);
    for (; n >= 16; n -= 16, weights += 16) { /* unrolled */
        perturb_group(weights, &same, &noise, k);
        perturb_group(weights + 4, &same, &noise, k);
        perturb_group(weights + 8, &same, &noise, k);
        perturb_group(weights + 12, &same, &noise, k);
    }
    for (; n > 0; n -= n < 4 ? n : 4, weights += 4) {
        int8_t group[4] = {0};
        memcpy(group, weights, n < 4 ? n : 4);
        perturb_group(group, &same, &noise, k);
        memcpy(weights, group, n < 4 ? n : 4);
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
