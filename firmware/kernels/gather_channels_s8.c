#include "kernels/gradients.h"

enum { FOUR = 4 };

/* The first `n` channels of a list, 1 to 4, which the compiler knows, at all positions. */
static inline __attribute__((always_inline)) void gather(const int8_t *values, uint32_t positions, uint32_t channels,
                                                         const uint16_t *list, uint32_t n, uint32_t count,
                                                         int8_t *packed) {
    uint32_t channel[FOUR];
    for (uint32_t i = 0; i < n; i++) {
        channel[i] = list[i];
    }
    for (; positions > 0; positions--, values += channels, packed += count) {
        for (uint32_t i = 0; i < n; i++) {
            packed[i] = values[channel[i]];
        }
    }
}

void gather_channels_s8(const int8_t *values, uint32_t positions, uint32_t channels, const uint16_t *list,
                        uint32_t count, int8_t *packed) {
    const uint16_t *const fours = list + count / FOUR * FOUR;
    for (; list != fours; list += FOUR, packed += FOUR) {
        gather(values, positions, channels, list, FOUR, count, packed);
    }
    switch (count % FOUR) {
    case 1: gather(values, positions, channels, list, 1, count, packed); break;
    case 2: gather(values, positions, channels, list, 2, count, packed); break;
    case 3: gather(values, positions, channels, list, 3, count, packed); break;
    default: break;
    }
}
