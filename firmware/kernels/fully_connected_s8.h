/* Forward pass of fully_connected: docs/arithmetic.md, section 4. */
#ifndef FULLY_CONNECTED_S8_H
#define FULLY_CONNECTED_S8_H

#include <stdint.h>

/* acc[o]: the exact sum of weight times input. Weights are `outputs` rows of `inputs`. */
void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc);

#endif
