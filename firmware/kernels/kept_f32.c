#include "kernels/kept_f32.h"

void pack_channels_f32(float *error, uint32_t positions, uint32_t channels, const kept_f32_t *kept) {
    float *to = error;
    for (; positions > 0; positions--, error += channels) {
        for (uint32_t i = 0; i < kept->count; i++) {
            *to++ = error[kept->list[i]];
        }
    }
}
