/* Weights at rest: docs/arithmetic.md, section 8. */
#ifndef LIMIT_S8_H
#define LIMIT_S8_H

#include <stdint.h>

/* weights = clip(weights) to -limit..limit. */
void limit_s8(int8_t *weights, uint32_t n, int32_t limit);

#endif
