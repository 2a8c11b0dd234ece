/* The perturbation of weights in binary32: docs/arithmetic-float32.md, section 6. */
#pragma once

#include <stdint.h>

/* Move `n` weights by c times the normal numbers of the stream that begins with `state`; c is 0, or 2^-48 or more in
   magnitude. */
void move_f32(float *weights, uint32_t n, uint32_t state, float c);
