/* Biases at rest: docs/arithmetic-zeroth-order.md, section 2. */
#ifndef LIMIT_S32_H
#define LIMIT_S32_H

#include <stdint.h>

/* values = clip(values) to -limit..limit, limit >= 0. */
void limit_s32(int32_t *values, uint32_t n, int32_t limit);

#endif
