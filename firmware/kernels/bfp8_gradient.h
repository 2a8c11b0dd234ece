/* Back-propagation in the format bfp8: the gradient of a layer over the samples of a batch, and the update of its
   weights. docs/arithmetic.md, section 7. A gradient is int32 with one exponent for the layer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* gradient = trunc(gradient / 2^shift) for `n` elements, shift >= 0: brings a gradient to a larger exponent. */
void scale_gradient_s32(int32_t *gradient, uint32_t n, int32_t shift);

/* Prepare the gradient of `n` elements (weights and biases) for a sample whose gradient has exponent `x`. The `first`
   sample of a step sets all elements to 0 and *exponent to x; a larger x scales the elements down. Returns
   *exponent - x >= 0, the shift for add_gradient_s32() of this sample. */
int32_t align_gradient_s32(int32_t *gradient, uint32_t n, bool first, int32_t x, int32_t *exponent);

/* gradient = sat32(gradient + trunc(sample / 2^shift)) for `n` elements, shift >= 0. */
void add_gradient_s32(int32_t *gradient, const int32_t *sample, uint32_t n, int32_t shift);

/* weights = clip127(weights - g) for `n` weights, where g is the gradient rounded to b_bp bits. */
void bp_update_s8(int8_t *weights, const int32_t *gradient, uint32_t n, int32_t b_bp);
