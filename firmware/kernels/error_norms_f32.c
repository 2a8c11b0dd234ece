#include "kernels/error_norms_f32.h"

void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms) {
    for (uint32_t o = 0; o < channels; o++) {
        norms[o] = 0.0f;
    }
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            const float e = *error++;
            norms[o] = norms[o] + (e < 0.0f ? -e : e);
        }
    }
}
