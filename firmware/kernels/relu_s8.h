/* relu in the format bfp8, forward and backward, both in place: docs/arithmetic.md, sections 4 and 7. */
#pragma once

#include <stdint.h>

/* Forward pass: values[i] = max(values[i], 0) for `n` values. */
void relu_s8(int8_t *values, uint32_t n);

/* Backward pass: error[i] = 0 where out[i], the output of the layer, is not positive. */
void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n);
