#include "kernels/gradients.h"

enum { FOUR = 4 };

/* Four channels of a list at all positions. */
static void gather_four(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list,
                        uint32_t count, int8_t *packed) {
    const uint32_t first = list[0], second = list[1], third = list[2], fourth = list[3];
    for (; positions > 0; positions--, values += channels, packed += count) {
        packed[0] = values[first];
        packed[1] = values[second];
        packed[2] = values[third];
        packed[3] = values[fourth];
    }
}

void gather_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list,
                        uint32_t count, int8_t *packed) {
    uint32_t c = 0;
    for (; c + FOUR <= count; c += FOUR) {
        gather_four(values, positions, channels, list + c, count, packed + c);
    }
    for (; c < count; c++) {
        const int8_t *from = values + list[c];
        int8_t *to = packed + c;
        for (uint32_t p = 0; p < positions; p++, from += channels, to += count) {
            *to = *from;
        }
    }
}
