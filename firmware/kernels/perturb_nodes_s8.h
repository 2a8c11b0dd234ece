/* Node perturbation: docs/arithmetic-zeroth-order.md, section 3. */
#ifndef PERTURB_NODES_S8_H
#define PERTURB_NODES_S8_H

#include <stdint.h>

/* out = a + xi for each of `n` outputs `a` strictly between act_min and act_max, a for the others; every output takes a draw. `out`
   may be `in`, else they do not overlap; both are aligned to 4 bytes. Returns the signs of the draws behind them. */
uint32_t perturb_nodes_s8(const int8_t *in, uint32_t n, int8_t act_min, int8_t act_max, uint32_t signs, int8_t *out);

#endif
