/* From sums to outputs (docs/arithmetic-tflite.md, section 3), LANES output channels at a time.
 *
 * Three forms hold what layers have; `EXACT` holds everything, channel by channel. Sums beyond +-2^30 (before a shift to
 * the left: what becomes that) are clamped first: with at most 21 bits to the right their output is at least 2^8 away
 * from 0 and is clamped anyway, and what is added for the rounding cannot leave int32.
 */
#pragma once

#include "tflite8.h"

enum { RIGHT, ANY_DOUBLE, ANY_SINGLE, EXACT }; /* RIGHT: `double` with shifts to the right only */

/* Factors of LANES channels. */
typedef struct {
    Words multiplier, odd;  /* `odd`: those of the odd lanes, one lane to the left */
    Words left, right;      /* shifts; ANY_SINGLE: `right` of the upper word */
    Words least, most;      /* magnitude of a sum */
    Words half, away;       /* `away`: -1 where the second rounding takes halves away from 0 */
    Longs nudge, nudge_odd; /* ANY_SINGLE: a half of the whole shift */
    int32_t exact_multiplier[LANES], exact_shift[LANES];
} Factors;

/* Return the form that rescales channels with these shifts. */
int rescale_form(int32_t rounding, int32_t channels, const int8_t *shifts);

/* Set one lane. */
void set_factor(Factors *factors, int lane, int form, int32_t multiplier, int32_t shift);

/* Return `rescale`, exact for any sum in int32. */
int64_t rescale_exact(int64_t sum, int32_t multiplier, int32_t shift, int32_t rounding);

/* Return the bits 31..62 of the products plus 2^30. */
INLINE Words high_products(Words sums, const Factors *factors) {
    const int64_t half = (int64_t)1 << 30;
    return interleaved((even_products(sums, factors->multiplier) + half) >> 31,
                       (odd_products(sums, factors->odd) + half) << 1);
}

/* Return the bits 32..63 of the products plus a half of their whole shift. */
INLINE Words upper_products(Words sums, const Factors *factors) {
    return interleaved((even_products(sums, factors->multiplier) + factors->nudge) >> 32,
                       odd_products(sums, factors->odd) + factors->nudge_odd);
}

/* Return `rescale` with `double`; with shifts to the right only, `left` and `away` are not read. */
INLINE Words rescaled_double(Words sums, const Factors *factors, const int right_only) {
    sums = within(sums, factors->least, factors->most);
    if (!right_only)
        sums = shifted_left(sums, factors->left);
    Words high = high_products(sums, factors), below = high >> 31;
    if (!right_only)
        below &= factors->away;
    return shifted_right(high + factors->half + below, factors->right);
}

INLINE Words rescaled_single(Words sums, const Factors *factors) {
    return shifted_right(upper_products(sums, factors), factors->right);
}

static __attribute__((noinline, unused)) Words rescaled_exactly(Words sums, const Factors *factors, int32_t rounding) {
    enum { BEYOND = 1 << 20 }; /* any output */
    int32_t own[LANES];
    memcpy(own, &sums, sizeof own);
    for (int lane = 0; lane < LANES; lane++) {
        int64_t found = rescale_exact(own[lane], factors->exact_multiplier[lane], factors->exact_shift[lane], rounding);
        own[lane] = (int32_t)(found > BEYOND ? BEYOND : found < -BEYOND ? -BEYOND : found);
    }
    return load_words(own);
}

INLINE Words rescaled(Words sums, const Factors *factors, const int form, int32_t rounding) {
    switch (form) {
    case RIGHT: return rescaled_double(sums, factors, 1);
    case ANY_DOUBLE: return rescaled_double(sums, factors, 0);
    case ANY_SINGLE: return rescaled_single(sums, factors);
    default: return rescaled_exactly(sums, factors, rounding);
    }
}
