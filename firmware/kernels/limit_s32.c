#include "kernels/updates.h"

#include "arith/clip127.h"

void limit_s32(int32_t *values, uint32_t n, int32_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = clip(values[i], limit);
    }
}
