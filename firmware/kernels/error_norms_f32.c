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

void keep_channels_f32(float *error, uint32_t positions, uint32_t channels, const uint16_t *kept, uint32_t count) {
    for (; positions > 0; positions--, error += channels) {
        uint32_t next = 0;
        for (uint32_t o = 0; o < channels; o++) {
            if (next < count && kept[next] == o) {
                next++;
            } else {
                error[o] = 0.0f;
            }
        }
    }
}
