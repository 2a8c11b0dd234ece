#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else bp_update_s8_dsp.c or bp_update_s8_m0.c */

#include "kernels/updates.h"

#include "arith/clip127.h"
#include "arith/psto_shift.h"
#include "kernels/requantize.h"

void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp) {
    const int32_t b = largest_bits_s32(gradient, n);
    if (b == 0) {
        return;
    }
    const int32_t s = b - b_bp;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t g = s < 1 ? gradient[i] : psto_shift(gradient[i], s);
        weights[i] = (int8_t)clip127(weights[i] - g);
    }
}

#endif
