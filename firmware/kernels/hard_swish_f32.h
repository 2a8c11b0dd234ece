/* hard_swish and multiply in binary32: docs/arithmetic-affine8.md, section 5. */
#pragma once

#include "kernels/sums_f32.h"

/* Forward passes. Each of the `channels` b goes with every one of the `positions`. */
void hard_swish_f32(const float *in, uint32_t n, float *out);
void multiply_f32(const float *a, const float *b, uint32_t positions, uint32_t channels, float *out);

/* The errors of what they read; `further`: they are added to what is in `input_error`. */
void hard_swish_f32_backward(const float *in, const float *error, uint32_t n, bool further, float *input_error);
void multiply_f32_error_of_a(const float *b, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error);
void multiply_f32_error_of_b(const float *a, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error);
