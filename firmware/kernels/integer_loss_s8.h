/* The integer loss terms of INT8*: docs/arithmetic.md, section 5, loss = integer. */
#ifndef INTEGER_LOSS_S8_H
#define INTEGER_LOSS_S8_H

#include <stdint.h>

/* The logits of one pass. */
typedef struct {
    const int8_t *values;
    int32_t exponent;
} logits_t;

/* A and B of one sample: sums of powers of two, at most 2^10 * n. */
typedef struct {
    uint32_t plus, minus;
} integer_loss_t;

integer_loss_t integer_loss_s8(logits_t plus, logits_t minus, uint32_t n, uint32_t label);

#endif
