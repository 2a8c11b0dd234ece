#include "kernels/perturb_nodes_s8.h"

#include "arith/rademacher.h"

uint32_t perturb_nodes_s8(const int8_t *in, uint32_t n, int8_t act_min, int8_t act_max, uint32_t signs, int8_t *out) {
    while (n > 0) {
        const uint32_t taken = n < SIGNS_PER_WORD ? n : SIGNS_PER_WORD;
        for (uint32_t i = 0; i < taken; i++) {
            const int32_t xi = 1 - 2 * (int32_t)(signs >> i & 1u);
            const int32_t a = in[i];
            out[i] = (int8_t)(a > act_min && a < act_max ? a + xi : a);
        }
        in += taken;
        out += taken;
        n -= taken;
        signs = taken < SIGNS_PER_WORD ? rademacher_skip(signs, taken) : rademacher_next(signs);
    }
    return signs;
}
