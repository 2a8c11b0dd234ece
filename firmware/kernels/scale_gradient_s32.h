/* A gradient brought to a larger exponent: docs/arithmetic.md, section 7. */
#ifndef SCALE_GRADIENT_S32_H
#define SCALE_GRADIENT_S32_H

#include <stdint.h>

/* gradient = trunc(gradient / 2^shift) for every element. */
void scale_gradient_s32(int32_t *gradient, uint32_t n, int32_t shift);

#endif
