#include "kernels/updates.h"

#include "arith/clip127.h"

void limit_s8(int8_t *weights, uint32_t n, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = (int8_t)clip(weights[i], limit);
    }
}
