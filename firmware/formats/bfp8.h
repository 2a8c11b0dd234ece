/* The format bfp8: int8 with one power-of-two exponent a tensor (docs/arithmetic.md). */
#ifndef BFP8_H
#define BFP8_H

#include "engine/format.h"

extern const format_t bfp8;

/* Errors on their way back through the layers that back-propagation trains, section 7 there; as chain_training_t has
   them. */
void bfp8_backward_begin(const model_t *model);

void bfp8_backward(model_t *model, const pass_t *pass, const uint8_t *labels, bool first, bool zero_sum);

void bfp8_update(const model_t *model, int32_t b_bp);

#endif
