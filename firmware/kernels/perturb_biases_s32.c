#include "kernels/perturbation.h"

#include "arith/rademacher.h"

uint32_t perturb_biases_s32(int32_t *bias, const int8_t *shift, uint32_t n, uint32_t signs, int32_t k) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t xi = (signs & 1u) != 0 ? -k : k;
        bias[i] += xi * (INT32_C(1) << bias_step_exponent(shift[i]));
        signs = rademacher_skip(signs, 1);
    }
    return signs;
}
