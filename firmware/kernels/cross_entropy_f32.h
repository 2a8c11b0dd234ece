/* Loss of one sample: docs/arithmetic.md, section 5. */
#ifndef CROSS_ENTROPY_F32_H
#define CROSS_ENTROPY_F32_H

#include <stdint.h>

/* The cross-entropy of `n` logits with their exponent, for the label. */
float cross_entropy_f32(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label);

#endif
