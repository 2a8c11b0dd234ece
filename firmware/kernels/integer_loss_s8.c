#include "kernels/integer_loss_s8.h"

#define LOG2_E 47274 /* * 2^-15 */

enum { KEPT = 10, LEAST_EXPONENT = -16, MOST_EXPONENT = 15 };

static inline int32_t greatest(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* The logit above that of the label, in powers of two: ahat_j or bhat_j. */
static int32_t power_of(logits_t logits, uint32_t j, uint32_t label) {
    const int32_t above = greatest(logits.exponent, LEAST_EXPONENT);
    const int32_t exponent = above < MOST_EXPONENT ? above : MOST_EXPONENT;
    return (LOG2_E * (logits.values[j] - logits.values[label])) >> (15 - exponent);
}

static int32_t largest_power(logits_t logits, uint32_t n, uint32_t label) {
    int32_t largest = 0; /* the label's own */
    for (uint32_t j = 0; j < n; j++) {
        largest = greatest(largest, power_of(logits, j, label));
    }
    return largest;
}

static uint32_t sum_of_powers(logits_t logits, uint32_t n, uint32_t label, int32_t offset) {
    uint32_t sum = 0;
    for (uint32_t j = 0; j < n; j++) {
        sum += 1u << greatest(power_of(logits, j, label) - offset, 0);
    }
    return sum;
}

integer_loss_t integer_loss_s8(logits_t plus, logits_t minus, uint32_t n, uint32_t label) {
    const int32_t offset = greatest(largest_power(plus, n, label), largest_power(minus, n, label)) - KEPT;
    return (integer_loss_t){
        .plus = sum_of_powers(plus, n, label, offset),
        .minus = sum_of_powers(minus, n, label, offset),
    };
}
