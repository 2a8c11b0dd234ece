/* A sample's gradient added to that of its layer: docs/arithmetic.md, section 7. */
#ifndef ADD_GRADIENT_S32_H
#define ADD_GRADIENT_S32_H

#include <stdint.h>

/* gradient = sat32(gradient + trunc(sample / 2^shift)) for `n` elements, shift >= 0. */
void add_gradient_s32(int32_t *gradient, const int32_t *sample, uint32_t n, int32_t shift);

#endif
