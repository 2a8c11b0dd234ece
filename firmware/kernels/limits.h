/* Trained values held within their limits: docs/arithmetic.md, section 8;
   docs/arithmetic-zeroth-order.md, section 2. */
#pragma once

#include <stdint.h>

/* weights = clip(weights) to -limit..limit, for `n` weights. */
void limit_s8(int8_t *weights, uint32_t n, int32_t limit);
void limit_s16(int16_t *weights, uint32_t n, int32_t limit);

/* values = clip(values) to -limit..limit, for `n` biases, limit >= 0. */
void limit_s32(int32_t *values, uint32_t n, int32_t limit);
