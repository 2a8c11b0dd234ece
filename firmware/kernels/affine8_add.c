#include "arith/float32.h"
#include "kernels/affine8_elementwise.h"

#define ONE 0x1p14f /* the factor of the larger scale */

float affine8_common_scale(float a, float b, int32_t factors[2]) {
    const float common = a > b ? a : b;
    factors[0] = affine8_round((a / common) * ONE, false);
    factors[1] = affine8_round((b / common) * ONE, false);
    return common;
}

void affine8_add(const int8_t *a, const int8_t *b, uint32_t n, const affine8_two_t *two, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t acc = (a[i] - two->a_zero) * two->a_factor + (b[i] - two->b_zero) * two->b_factor;
        const int32_t value = two->output_zero + affine8_rescale(acc, two->factor);
        out[i] = (int8_t)(value < two->least ? two->least : value > two->most ? two->most : value);
    }
}
