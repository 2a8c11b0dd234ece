#include "kernels/dsp.h"

#if !KERNELS_DSP /* else affine8_error_norms_dsp.c */

#include "kernels/affine8.h"

void affine8_error_norms(const int8_t *error, int8_t zero, uint32_t positions, uint32_t channels, uint32_t *norms) {
    for (uint32_t o = 0; o < channels; o++) {
        norms[o] = 0;
    }
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            const int32_t e = *error++ - zero;
            norms[o] += (uint32_t)(e < 0 ? -e : e);
        }
    }
}

#endif
