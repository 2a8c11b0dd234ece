/* The loss of `n` logits in binary32 for the label `label`, the error of the logits, and the predicted class:
   docs/arithmetic-float32.md, sections 4 and 9. */
#pragma once

#include <stdint.h>

/* The lowest index of the largest of `n` >= 1 values. */
uint32_t argmax_f32(const float *values, uint32_t n);

/* Cross-entropy of the softmax. */
float softmax_loss_f32(const float *logits, uint32_t n, uint32_t label);

/* error = softmax less one-hot. */
void softmax_error_f32(const float *logits, uint32_t n, uint32_t label, float *error);
