#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else perturb_s8_dsp.c, perturb_s8_m0.c */

#include "kernels/perturb_s8.h"

#include "arith/clip127.h"

static inline void perturb_group(int8_t *weights, uint32_t n, noise_t *noise, int32_t k) {
    const noise_words_t words = noise_next(noise);
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = (int8_t)clip127(weights[i] + k * noise_of(noise, words, i));
    }
}

void perturb_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t k) {
    for (; n >= 4; n -= 4, weights += 4) {
        perturb_group(weights, 4, &noise, k);
    }
    if (n > 0) {
        perturb_group(weights, n, &noise, k);
    }
}

#endif
