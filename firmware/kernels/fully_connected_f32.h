/* Fully connected layers in binary32, forward and backward: docs/arithmetic-float32.md, sections 3 and 5. Weights are
   [output][input]. */
#pragma once

#include "kernels/channels_f32.h"
#include "kernels/sums_f32.h"

/* out = clamp(the sum of the products + bias). */
void fully_connected_f32(const float *in, const float *weights, const float *bias, uint32_t inputs, uint32_t outputs,
                         const limits_f32_t *limits, float *out);

/* The error of every input, from that of the outputs, which has passed the gate and has the kept ones. `further`: it is
   added to what is in `input_error`. */
void fully_connected_f32_input_error(const float *error, const kept_f32_t *kept, const float *weights, uint32_t inputs,
                                     bool further, float *input_error);

/* Add the gradient of a sample. */
void fully_connected_f32_weight_gradient(const float *in, const float *error, uint32_t inputs, uint32_t outputs,
                                         float *gradient);
