/* Perturbation of biases: docs/arithmetic-zeroth-order.md, section 3. */
#ifndef PERTURB_BIASES_S32_H
#define PERTURB_BIASES_S32_H

#include <stdint.h>

/* The binary logarithm of m_o, of a channel with this shift (-31..30). */
static inline int32_t bias_step_exponent(int32_t shift) {
    const int32_t wanted = shift < 0 ? -shift : 0;
    return wanted < 20 ? wanted : 20;
}

/* bias = bias + k * xi * m_o for `n` biases with the shifts of their channels, k in {1, -1}; returns the signs of the draws behind
   them. The biases are within +-2^30. */
uint32_t perturb_biases_s32(int32_t *bias, const int8_t *shift, uint32_t n, uint32_t signs, int32_t k);

#endif
