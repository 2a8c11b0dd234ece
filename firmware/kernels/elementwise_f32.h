/* What is done element by element in binary32: docs/arithmetic-float32.md, sections 2 to 6; hard_swish and multiply:
   docs/arithmetic-affine8.md, section 5. */
#pragma once

#include "kernels/sums_f32.h"

/* Value 0: scale * (pixel - 128 - zero). */
void scale_pixels_f32(const uint8_t *pixels, uint32_t n, float scale, int32_t zero, float *out);

/* out = clamp(a + b). */
void add_f32(const float *a, const float *b, uint32_t n, const limits_f32_t *limits, float *out);

/* Errors of outputs that are on a limit, or beyond, become +0. */
void gate_f32(const float *out, uint32_t n, const limits_f32_t *limits, float *error);

/* Give an error on as it is; `further`: it is added to what is in `to`. */
void pass_error_f32(const float *error, uint32_t n, bool further, float *to);

/* hard_swish and multiply, forward. Each of the `channels` b goes with every one of the `positions`. */
void hard_swish_f32(const float *in, uint32_t n, float *out);
void multiply_f32(const float *a, const float *b, uint32_t positions, uint32_t channels, float *out);

/* The errors of what they read; `further`: they are added to what is in `input_error`. */
void hard_swish_f32_backward(const float *in, const float *error, uint32_t n, bool further, float *input_error);
void multiply_f32_error_of_a(const float *b, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error);
void multiply_f32_error_of_b(const float *a, const float *error, uint32_t positions, uint32_t channels, bool further,
                             float *input_error);
