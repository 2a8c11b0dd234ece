/* Update of biases: docs/arithmetic-zeroth-order.md, section 6. */
#ifndef APPLY_GRADIENT_S32_H
#define APPLY_GRADIENT_S32_H

#include "kernels/gradient_update.h"

/* Update `n` biases, those of the output channels from `first` on: bias[i] and gradient[i] are of channel first + i. */
void apply_gradient_s32(int32_t *bias, const int32_t *gradient, uint32_t first, uint32_t n,
                        const gradient_update_t *update);

#endif
