/* Loss of one sample whose logits have a scale: docs/arithmetic-zeroth-order.md, section 1. */
#ifndef CROSS_ENTROPY_SCALED_F32_H
#define CROSS_ENTROPY_SCALED_F32_H

#include <stdint.h>

/* The cross-entropy of `n` logits, each worth `scale` (normal, > 0) a step, for the label. */
float cross_entropy_scaled_f32(const int8_t *logits, uint32_t n, float scale, uint32_t label);

#endif
