/* Update of biases with momentum: docs/arithmetic-backward.md, section 4. */
#ifndef APPLY_VELOCITY_S32_H
#define APPLY_VELOCITY_S32_H

#include "kernels/gradient_update.h"

/* apply_gradient_s32() with momentum: velocity[i] is that of bias[i], and follows gradient[i]. */
void apply_velocity_s32(int32_t *bias, float *velocity, const int32_t *gradient, uint32_t first, uint32_t n,
                        float momentum, const gradient_update_t *update);

#endif
