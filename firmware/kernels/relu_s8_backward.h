/* Backward pass of relu, in place: docs/arithmetic.md, section 7. */
#ifndef RELU_S8_BACKWARD_H
#define RELU_S8_BACKWARD_H

#include <stdint.h>

/* The error passes where the layer's output is > 0, and is 0 elsewhere. */
void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n);

#endif
