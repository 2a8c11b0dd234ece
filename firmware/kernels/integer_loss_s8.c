#include "kernels/losses.h"

#include "arith/bits.h"

#define LOG2_E 47274 /* * 2^-15 */

enum { KEPT = 10, LEAST_EXPONENT = -16, MOST_EXPONENT = 15, TABLE_BITS = 6 };

_Static_assert((int)INTEGER_LOSS_MOST_FRACTION == (int)TABLE_BITS, "the table has an entry for each fraction");

/* T: 2^(12 + i/64), rounded. */
static const uint16_t roots[1 << TABLE_BITS] = {
    4096, 4141, 4186, 4231, 4277, 4324, 4371, 4419, 4467, 4515, 4565, 4614, 4664, 4715, 4767, 4819,
    4871, 4924, 4978, 5032, 5087, 5142, 5198, 5255, 5312, 5370, 5428, 5487, 5547, 5607, 5668, 5730,
    5793, 5856, 5919, 5984, 6049, 6115, 6182, 6249, 6317, 6386, 6455, 6526, 6597, 6668, 6741, 6814,
    6889, 6964, 7039, 7116, 7194, 7272, 7351, 7431, 7512, 7594, 7677, 7760, 7845, 7930, 8016, 8104,
};

static inline int32_t greatest(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static inline int32_t least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* The logit above that of the label, in powers of two of which `fraction` bits are kept: ahat_j or bhat_j. */
static int32_t power_of(logits_t logits, uint32_t j, uint32_t label, uint32_t fraction) {
    const int32_t most = MOST_EXPONENT - (int32_t)fraction;
    const int32_t exponent = least(greatest(logits.exponent, LEAST_EXPONENT), most);
    return (LOG2_E * (logits.values[j] - logits.values[label])) >> (most - exponent);
}

static int32_t largest_power(logits_t logits, uint32_t n, uint32_t label, uint32_t fraction) {
    int32_t largest = 0; /* the label's own */
    for (uint32_t j = 0; j < n; j++) {
        largest = greatest(largest, power_of(logits, j, label, fraction));
    }
    return largest;
}

/* 2^(t / 2^fraction); with fraction bits 2^12 times as much. */
static uint32_t term(uint32_t t, uint32_t fraction) {
    if (fraction == 0) {
        return 1u << t;
    }
    const uint32_t whole = t >> fraction, rest = t - (whole << fraction);
    return (uint32_t)roots[rest << (TABLE_BITS - fraction)] << whole;
}

static uint32_t sum_of_terms(logits_t logits, uint32_t n, uint32_t label, uint32_t fraction, int32_t offset) {
    uint32_t sum = 0;
    for (uint32_t j = 0; j < n; j++) {
        sum += term((uint32_t)greatest(power_of(logits, j, label, fraction) - offset, 0), fraction);
    }
    return sum;
}

integer_loss_t integer_loss_s8(logits_t plus, logits_t minus, uint32_t n, uint32_t label, uint32_t fraction) {
    const int32_t largest = greatest(largest_power(plus, n, label, fraction), largest_power(minus, n, label, fraction));
    const int32_t offset = largest - (KEPT << fraction);
    return (integer_loss_t){
        .plus = sum_of_terms(plus, n, label, fraction, offset),
        .minus = sum_of_terms(minus, n, label, fraction, offset),
    };
}

int32_t integer_loss_log2(uint32_t sum, uint32_t fraction) {
    int32_t log = bits(sum) - 1;
    uint32_t m = sum << (31 - log); /* 2^31 times a number in 1..2, whose logarithm is still to come */
    for (uint32_t i = 0; i < fraction; i++) {
        const uint64_t square = (uint64_t)m * m;
        const uint32_t high = (uint32_t)(square >> 32);
        const uint32_t digit = high >> 31;
        m = digit != 0 ? high : (uint32_t)(square >> 31);
        log = 2 * log + (int32_t)digit;
    }
    return log;
}
