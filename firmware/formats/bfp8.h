/* The format bfp8: int8 with one power-of-two exponent a tensor (docs/arithmetic.md). Its forward pass is called
   through its table. */
#pragma once

#include "engine/format.h"

extern const format_t bfp8;

/* Errors on their way back through the layers that back-propagation trains, section 7 there. Begin a step: no
   gradients yet. */
void bfp8_backward_begin(const model_t *model);

/* Add the gradients of the group that `pass` has just taken through the layers. `first`: the first group of the step;
   `zero_sum`: the errors of a sample's logits sum to zero. */
void bfp8_backward(model_t *model, const pass_t *pass, const uint8_t *labels, bool first, bool zero_sum);

/* Update the weights by the gradients of the step. */
void bfp8_update(const model_t *model, int32_t b_bp);

#define BFP8_SCRATCH PLAN_OWN /* the line of the scratch of a convolution's forward pass */
