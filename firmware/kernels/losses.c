/* Losses, and errors of logits: docs/arithmetic.md, sections 5 and 6; docs/arithmetic-zeroth-order.md, sections 1 and
   4; docs/arithmetic-tflite.md, section 7.2. */
#include "kernels/losses.h"

#include "arith/float32.h"
#include "arith/integers.h"
#include "arith/psto_shift.h"
#include "kernels/core.h"

SEPARATE uint32_t argmax_s8(const int8_t *values, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        best = values[i] > values[best] ? i : best;
    }
    return best;
}

int32_t loss_delta(float difference) {
    float held = difference < -32.0f ? -32.0f : difference;
    held = held > 32.0f ? 32.0f : held;
    return (int32_t)float32_round(held * 65536.0f);
}

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
static int32_t integer_power(logits_t logits, uint32_t j, uint32_t label, uint32_t fraction) {
    const int32_t most = MOST_EXPONENT - (int32_t)fraction;
    const int32_t exponent = least(greatest(logits.exponent, LEAST_EXPONENT), most);
    return (LOG2_E * (logits.values[j] - logits.values[label])) >> (most - exponent);
}

static int32_t largest_power(logits_t logits, uint32_t n, uint32_t label, uint32_t fraction) {
    int32_t largest = 0; /* the label's own */
    for (uint32_t j = 0; j < n; j++) {
        largest = greatest(largest, integer_power(logits, j, label, fraction));
    }
    return largest;
}

/* 2^(t / 2^fraction); with fraction bits 2^12 times as much. */
static uint32_t integer_term(uint32_t t, uint32_t fraction) {
    if (fraction == 0) {
        return 1u << t;
    }
    const uint32_t whole = t >> fraction, rest = t - (whole << fraction);
    return (uint32_t)roots[rest << (TABLE_BITS - fraction)] << whole;
}

static uint32_t sum_of_terms(logits_t logits, uint32_t n, uint32_t label, uint32_t fraction, int32_t offset) {
    uint32_t sum = 0;
    for (uint32_t j = 0; j < n; j++) {
        sum += integer_term((uint32_t)greatest(integer_power(logits, j, label, fraction) - offset, 0), fraction);
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

/* What the softmax of one sample needs besides the logit. */
typedef struct {
    int32_t exponent;
    int32_t floor;     /* for large exponents: max h - 10 */
    uint32_t deducted; /* for large exponents: d */
} softmax_t;

/* h_j, the logit in powers of two. */
static int32_t softmax_power(int32_t logit, int32_t exponent) {
    return (logit * LOG2_E) >> (15 - least(exponent, 8));
}

/* v_j for s > -7: a power of two at most 10 below the largest, less d. */
static uint32_t term_exponential(int32_t logit, const softmax_t *softmax) {
    const int32_t t = greatest(softmax_power(logit, softmax->exponent) - softmax->floor, 0);
    return (1u << t) - softmax->deducted;
}

/* v_j for s <= -7: the second-order series of the exponential. */
static uint32_t term_series(int32_t logit, int32_t exponent) {
    const int32_t n = least(greatest(-8 - exponent, 0), 8);
    const int32_t a = trunc_shift(logit, n);
    const int32_t s = greatest(exponent, -8);
    return (uint32_t)((1 << (1 - 2 * s)) + a * (1 << (1 - s)) + a * a);
}

static uint32_t softmax_term(int32_t logit, const softmax_t *softmax) {
    return softmax->exponent > -7 ? term_exponential(logit, softmax) : term_series(logit, softmax->exponent);
}

void softmax_error_s8(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label, bool zero_sum,
                      int8_t *error) {
    softmax_t softmax = {.exponent = exponent, .floor = 0, .deducted = zero_sum ? 0 : 1};
    if (exponent > -7) {
        softmax.floor = softmax_power(logits[argmax_s8(logits, n)], exponent) - 10; /* h grows with the logit */
    }
    uint32_t sum = 0;
    for (uint32_t j = 0; j < n; j++) {
        sum += softmax_term(logits[j], &softmax);
    }
    int32_t shares = 0, others = 0; /* of all classes but the label: P_j and e_j */
    for (uint32_t j = 0; j < n; j++) {
        if (j != label) {
            const int32_t share = (int32_t)((softmax_term(logits[j], &softmax) << 11) / sum);
            error[j] = (int8_t)psto_shift(share, 4);
            shares += share;
            others += error[j];
        }
    }
    error[label] = (int8_t)(zero_sum ? -least(others, 127) : psto_shift(-shares, 4));
}

float cross_entropy_f32(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label) {
    int32_t clamped = exponent < -60 ? -60 : exponent;
    clamped = clamped > 60 ? 60 : clamped;
    return cross_entropy_scaled_f32(logits, n, float32_power_of_two(clamped), label);
}

SEPARATE float cross_entropy_scaled_f32(const int8_t *logits, uint32_t n, float scale, uint32_t label) {
    const int32_t maximum = logits[argmax_s8(logits, n)];
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        const float x = (float)(logits[j] - maximum) * scale;
        sum = sum + exp32(x);
    }
    const float distance = (float)(maximum - logits[label]) * scale;
    return log32(sum) + distance;
}

static float term(int32_t logit, int32_t maximum, float scale) {
    const float x = (float)(logit - maximum) * scale;
    return exp32(x);
}

void cross_entropy_error_s8(const int8_t *logits, uint32_t n, float scale, uint32_t label, int8_t *error) {
    const int32_t maximum = logits[argmax_s8(logits, n)];
    float sum = 0.0f;
    for (uint32_t j = 0; j < n; j++) {
        sum = sum + term(logits[j], maximum, scale);
    }
    for (uint32_t j = 0; j < n; j++) {
        float d = term(logits[j], maximum, scale) / sum;
        d = j == label ? d - 1.0f : d;
        error[j] = (int8_t)float32_round(d * 127.0f);
    }
}
