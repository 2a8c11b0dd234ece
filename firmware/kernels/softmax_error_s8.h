/* Error of the logits of one sample, in integers: docs/arithmetic.md, section 6. */
#ifndef SOFTMAX_ERROR_S8_H
#define SOFTMAX_ERROR_S8_H

#include <stdbool.h>
#include <stdint.h>

enum { SOFTMAX_ERROR_EXPONENT = -7 };

/* error[j] of `n` <= 256 logits with their exponent, for the label; the exponent of the error is SOFTMAX_ERROR_EXPONENT. The form is
   NITI's, or the one in which the errors sum to zero. */
void softmax_error_s8(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label, bool zero_sum, int8_t *error);

#endif
