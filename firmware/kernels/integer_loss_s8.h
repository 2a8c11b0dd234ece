/* The integer loss terms of INT8*: docs/arithmetic.md, section 5, loss = integer. */
#ifndef INTEGER_LOSS_S8_H
#define INTEGER_LOSS_S8_H

#include <stdint.h>

/* The logits of one pass. */
typedef struct {
    const int8_t *values;
    int32_t exponent;
} logits_t;

/* A and B of one sample: sums of powers of two, in n * (1..2^10); with fraction bits 2^12 times as much. */
typedef struct {
    uint32_t plus, minus;
} integer_loss_t;

enum { INTEGER_LOSS_MOST_FRACTION = 6 };

/* Of `n` <= 256 logits, with `fraction` bits kept, 0..INTEGER_LOSS_MOST_FRACTION. */
integer_loss_t integer_loss_s8(logits_t plus, logits_t minus, uint32_t n, uint32_t label, uint32_t fraction);

/* What such a sum > 0 adds to the loss of a step of several samples: its logarithm to base 2 in units of 2^-fraction. */
int32_t integer_loss_log2(uint32_t sum, uint32_t fraction);

#endif
