/* Weight perturbation: docs/arithmetic-zeroth-order.md, section 3. */
#ifndef PERTURB_WEIGHTS_S8_H
#define PERTURB_WEIGHTS_S8_H

#include <stdint.h>

/* w = w + k * xi for `n` weights, k in {1, -1}; returns the signs of the draws behind them. The weights are aligned to 4 bytes
   and within -126..126 when they are perturbed, so that none leaves its byte: the same signs with the other k restore them exactly. */
uint32_t perturb_weights_s8(int8_t *weights, uint32_t n, uint32_t signs, int32_t k);

#endif
