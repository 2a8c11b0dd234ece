#include "kernels/affine8.h"

void affine8_pack_channels(const int8_t *error, uint32_t positions, uint32_t channels, const uint16_t *kept,
                           uint32_t count, int8_t *packed) {
    for (uint32_t p = 0; p < positions; p++, error += channels) {
        for (uint32_t i = 0; i < count; i++) {
            *packed++ = error[kept[i]];
        }
    }
}
