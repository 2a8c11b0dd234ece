#include "kernels/error_norms_f32.h"

void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms) {
    for (uint32_t o = 0; o < channels; o++) {
        norms[o] = __builtin_fabsf(*error++);
    }
    for (uint32_t p = 1; p < positions; p++) {
        for (uint32_t o = 0; o < channels; o++) {
            norms[o] = norms[o] + __builtin_fabsf(*error++);
        }
    }
}
