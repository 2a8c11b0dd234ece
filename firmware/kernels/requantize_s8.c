#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else requantize_s8_dsp.c, requantize_s8_m0.c */

#include "kernels/requantize.h"

#include "arith/round_shift.h"

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
