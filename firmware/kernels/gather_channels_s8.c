#include "kernels/gradients.h"

void gather_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list,
                        uint32_t count, int8_t *packed) {
    for (uint32_t p = 0; p < positions; p++, values += channels) {
        for (uint32_t c = 0; c < count; c++) {
            *packed++ = values[list[c]];
        }
    }
}
