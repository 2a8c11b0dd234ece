/* Losses of one sample, the error of its logits, and its prediction. A label is an index below `n`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The lowest index of the largest of `n` >= 1 values: the predicted class. */
uint32_t argmax_s8(const int8_t *values, uint32_t n);

/* Cross-entropy of `n` logits with a common exponent, format bfp8: docs/arithmetic.md, section 5. */
float cross_entropy_f32(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label);

/* Cross-entropy of `n` logits of which one step is worth `scale` (normal, > 0), format tflite8:
   docs/arithmetic-zeroth-order.md, section 1. */
float cross_entropy_scaled_f32(const int8_t *logits, uint32_t n, float scale, uint32_t label);

/* error[j] = 127 times the derivative of cross_entropy_scaled_f32() by logit j:
   docs/arithmetic-tflite.md, section 7.2. */
void cross_entropy_error_s8(const int8_t *logits, uint32_t n, float scale, uint32_t label, int8_t *error);

enum { SOFTMAX_ERROR_EXPONENT = -7 };

/* error[j] of `n` <= 256 logits with a common exponent, in integers; the error's exponent is SOFTMAX_ERROR_EXPONENT:
   docs/arithmetic.md, section 6. `zero_sum` selects the form whose errors sum to zero instead of NITI's. */
void softmax_error_s8(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label, bool zero_sum, int8_t *error);

/* The logits of one forward pass. */
typedef struct {
    const int8_t *values;
    int32_t exponent;
} logits_t;

/* A and B of one sample: sums of powers of two, in n * (1..2^10); with fraction bits 2^12 times as large. */
typedef struct {
    uint32_t plus, minus;
} integer_loss_t;

enum { INTEGER_LOSS_MOST_FRACTION = 6 };

/* The integer loss terms of ElasticZO-INT8 (loss = integer) for the two passes of a step: docs/arithmetic.md,
   section 5. `n` <= 256 logits; `fraction` bits are kept, 0..INTEGER_LOSS_MOST_FRACTION. */
integer_loss_t integer_loss_s8(logits_t plus, logits_t minus, uint32_t n, uint32_t label, uint32_t fraction);

/* The binary logarithm of such a sum > 0 in units of 2^-fraction: the sample's part of the loss of a batch. */
int32_t integer_loss_log2(uint32_t sum, uint32_t fraction);

/* A finite loss difference d_q as an integer, -2^21..2^21: docs/arithmetic-zeroth-order.md, section 4. */
int32_t loss_delta(float difference);
