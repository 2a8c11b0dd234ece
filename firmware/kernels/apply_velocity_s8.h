/* Update of weights with momentum: docs/arithmetic-backward.md, section 4. */
#ifndef APPLY_VELOCITY_S8_H
#define APPLY_VELOCITY_S8_H

#include "kernels/gradient_update.h"

/* apply_gradient_s8() with momentum: velocity[i] is that of weights[i], and follows gradient[i]. */
void apply_velocity_s8(int8_t *weights, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                       float momentum, const gradient_update_t *update, int32_t *sums);

#endif
