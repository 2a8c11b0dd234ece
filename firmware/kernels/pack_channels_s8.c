#include "kernels/gradients.h"

void pack_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, uint32_t first, uint32_t count,
                      int8_t *packed) {
    const int8_t *from = values + first;
    for (uint32_t p = 0; p < positions; p++) {
        for (uint32_t c = 0; c < count; c++) {
            *packed++ = from[c];
        }
        from += channels;
    }
}
