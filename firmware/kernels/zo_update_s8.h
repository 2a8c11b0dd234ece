/* Zeroth-order update of a tensor: docs/arithmetic.md, section 9, step 6. */
#ifndef ZO_UPDATE_S8_H
#define ZO_UPDATE_S8_H

#include <stdint.h>

#include "kernels/noise.h"

/* weights = clip(clip(weights + z) - u) to -limit..limit, which takes back the perturbation of the minus pass and moves against the
   gradient; z from the stream that begins at `noise`, u made of z, the `sign` of the loss difference and b_zo; limit in 64..127. */
void zo_update_s8(int8_t *weights, uint32_t n, noise_t noise, int32_t sign, int32_t b_zo, int32_t limit);

#endif
