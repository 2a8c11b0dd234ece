#include "kernels/dsp.h"
#include "kernels/thumb1.h"

#if !KERNELS_DSP && !KERNELS_THUMB1 /* else relu_s8_dsp.c, relu_s8_m0.c */

#include "kernels/elementwise.h"

void relu_s8(int8_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

#endif
