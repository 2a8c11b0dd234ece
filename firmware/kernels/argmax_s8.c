#include "kernels/losses.h"

uint32_t argmax_s8(const int8_t *values, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}
