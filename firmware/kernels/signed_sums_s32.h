/* The gradient of one sample by weight perturbation: docs/arithmetic-zeroth-order.md, section 5. */
#ifndef SIGNED_SUMS_S32_H
#define SIGNED_SUMS_S32_H

#include "kernels/query.h"

/* sums[i] = the sum over `count` (1..127) queries of delta * xi, for each of the next `n` draws; every query goes on by n draws, so
   that the next call continues with the weights (or the biases) behind these. */
void signed_sums_s32(query_t *queries, uint32_t count, uint32_t n, int32_t *sums);

#endif
