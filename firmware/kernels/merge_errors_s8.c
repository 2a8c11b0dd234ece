#include "kernels/layer_errors.h"

#include "arith/bits.h"
#include "arith/round_shift.h"

enum { RAISED = 15 }; /* bits that an error has below its unit in the sum */

typedef struct {
    int32_t m, own, other; /* shifts to the right of the value's own errors, and of the other ones */
} terms_t;

static int32_t sum_of(int32_t error, int32_t other, const terms_t *terms) {
    return trunc_shift(error * (1 << RAISED), terms->own) + trunc_shift(other * terms->m, terms->other);
}

/* Sums are made twice, first for the bits of the largest, so that they need no memory. */
int32_t merge_errors_s8(int8_t *error, uint32_t n, int32_t x, const merged_t *other) {
    const int32_t unit = x - RAISED > other->exponent ? x - RAISED : other->exponent;
    const terms_t terms = {.m = other->m, .own = unit - (x - RAISED), .other = unit - other->exponent};
    uint32_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= magnitude(sum_of(error[i], other->error[i], &terms));
    }
    const int32_t s = bits(any) > 7 ? bits(any) - 7 : 0;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t sum = sum_of(error[i], other->error[i], &terms);
        error[i] = (int8_t)(s > 0 ? round_shift(sum, s) : sum);
    }
    return unit + s;
}
