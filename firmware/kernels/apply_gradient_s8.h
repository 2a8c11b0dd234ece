/* Update of weights: docs/arithmetic-zeroth-order.md, section 6. */
#ifndef APPLY_GRADIENT_S8_H
#define APPLY_GRADIENT_S8_H

#include "kernels/gradient_update.h"

/* Update `n` weights of a layer, those from index `first` of its tensor on: weights[i] and gradient[i] are of index first + i. The sum
   of the weights of each output channel, in `sums` (all channels of the layer), follows. */
void apply_gradient_s8(int8_t *weights, const int32_t *gradient, uint32_t first, uint32_t n,
                       const gradient_update_t *update, int32_t *sums);

#endif
