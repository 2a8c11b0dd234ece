#include "kernels/gradients.h"

#include "arith/clip127.h"
#include "arith/round_shift.h"

void add_gradient_s32(int32_t *gradient, const int32_t *sample, uint32_t n, int32_t shift) {
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = add_sat32(gradient[i], trunc_shift(sample[i], shift));
    }
}
