#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else affine8_requantize_dsp.c, affine8_requantize_m0.c */

#include "kernels/affine8.h"

void affine8_requantize_s32(const int32_t *sums, uint32_t n, affine8_factor_t factor, int8_t zero, bool within,
                            int8_t *out) {
    (void)within;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t value = zero + affine8_rescale(sums[i], factor);
        out[i] = (int8_t)(value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value);
    }
}

#endif
