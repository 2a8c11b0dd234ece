/* What is done element by element in binary32: docs/arithmetic-float32.md, sections 2 to 6. */
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

/* weights = weights - clamp(rate * gradient, -2^20, 2^20). */
void update_f32(const float *gradient, uint32_t n, float rate, float *weights);
