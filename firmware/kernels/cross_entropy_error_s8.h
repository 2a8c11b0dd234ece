/* Error of the logits of one sample whose logits have a scale: docs/arithmetic-backward.md, section 2. */
#ifndef CROSS_ENTROPY_ERROR_S8_H
#define CROSS_ENTROPY_ERROR_S8_H

#include <stdint.h>

/* error[j] of `n` logits, each worth `scale` (normal, > 0) a step, for the label: 127 times the derivative of the loss. */
void cross_entropy_error_s8(const int8_t *logits, uint32_t n, float scale, uint32_t label, int8_t *error);

#endif
