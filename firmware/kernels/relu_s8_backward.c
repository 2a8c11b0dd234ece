#include "kernels/dsp.h"

#if !KERNELS_DSP /* else relu_s8_backward_dsp.c */

#include "kernels/elementwise.h"

void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        error[i] = out[i] > 0 ? error[i] : 0;
    }
}

#endif
