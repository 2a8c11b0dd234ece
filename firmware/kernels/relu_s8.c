#include "kernels/dsp.h"

#if !KERNELS_DSP /* else relu_s8_dsp.c */

#include "kernels/relu_s8.h"

void relu_s8(int8_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

#endif
