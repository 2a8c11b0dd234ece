#include "kernels/losses.h"

#include "arith/psto_shift.h"
#include "arith/round_shift.h"

#define LOG2_E 47274 /* * 2^-15 */

/* What the softmax of one sample needs besides the logit. */
typedef struct {
    int32_t exponent;
    int32_t floor;     /* for large exponents: max h - 10 */
    uint32_t deducted; /* for large exponents: d */
} softmax_t;

static inline int32_t least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static inline int32_t greatest(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* h_j, the logit in powers of two. */
static int32_t power_of(int32_t logit, int32_t exponent) {
    return (logit * LOG2_E) >> (15 - least(exponent, 8));
}

/* v_j for s > -7: a power of two at most 10 below the largest, less d. */
static uint32_t term_exponential(int32_t logit, const softmax_t *softmax) {
    const int32_t t = greatest(power_of(logit, softmax->exponent) - softmax->floor, 0);
    return (1u << t) - softmax->deducted;
}

/* v_j for s <= -7: the second-order series of the exponential. */
static uint32_t term_series(int32_t logit, int32_t exponent) {
    const int32_t n = least(greatest(-8 - exponent, 0), 8);
    const int32_t a = trunc_shift(logit, n);
    const int32_t s = greatest(exponent, -8);
    return (uint32_t)((1 << (1 - 2 * s)) + a * (1 << (1 - s)) + a * a);
}

static uint32_t term(int32_t logit, const softmax_t *softmax) {
    return softmax->exponent > -7 ? term_exponential(logit, softmax) : term_series(logit, softmax->exponent);
}

void softmax_error_s8(const int8_t *logits, uint32_t n, int32_t exponent, uint32_t label, bool zero_sum,
                      int8_t *error) {
    softmax_t softmax = {.exponent = exponent, .floor = 0, .deducted = zero_sum ? 0 : 1};
    if (exponent > -7) {
        softmax.floor = power_of(logits[argmax_s8(logits, n)], exponent) - 10; /* h grows with the logit */
    }
    uint32_t sum = 0;
    for (uint32_t j = 0; j < n; j++) {
        sum += term(logits[j], &softmax);
    }
    int32_t shares = 0, others = 0; /* of all classes but the label: P_j and e_j */
    for (uint32_t j = 0; j < n; j++) {
        if (j != label) {
            const int32_t share = (int32_t)((term(logits[j], &softmax) << 11) / sum);
            error[j] = (int8_t)psto_shift(share, 4);
            shares += share;
            others += error[j];
        }
    }
    error[label] = (int8_t)(zero_sum ? -least(others, 127) : psto_shift(-shares, 4));
}
