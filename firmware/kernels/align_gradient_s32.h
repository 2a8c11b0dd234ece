/* A layer's gradient before a sample is added: docs/arithmetic.md, section 7. */
#ifndef ALIGN_GRADIENT_S32_H
#define ALIGN_GRADIENT_S32_H

#include <stdbool.h>
#include <stdint.h>

/* Bring all `n` elements (weights and biases) of the gradient with exponent *exponent to one that takes a sample of exponent `x`: the
   `first` sample of a step makes them 0 and *exponent = x, a larger x scales them down. Returns E - x >= 0, the shift for
   add_gradient_s32() of that sample. */
int32_t align_gradient_s32(int32_t *gradient, uint32_t n, bool first, int32_t x, int32_t *exponent);

#endif
