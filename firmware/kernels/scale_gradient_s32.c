#include "kernels/gradients.h"

#include "arith/round_shift.h"

void scale_gradient_s32(int32_t *gradient, uint32_t n, int32_t shift) {
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = trunc_shift(gradient[i], shift);
    }
}
