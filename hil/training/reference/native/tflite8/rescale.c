/* Factors of channels, and the rescaling of any sum (docs/arithmetic-tflite.md, section 3). */
#include "rescale.h"

enum { MOST_RIGHT = 21, RAISED = 30 }; /* bits */

int rescale_form(int32_t rounding, int32_t channels, const int8_t *shifts) {
    int32_t least = 0, most = -31;
    for (int32_t channel = 0; channel < channels; channel++) {
        least = shifts[channel] < least ? shifts[channel] : least;
        most = shifts[channel] > most ? shifts[channel] : most;
    }
    if (rounding == SINGLE)
        return most < 0 ? ANY_SINGLE : EXACT;
    return least < -MOST_RIGHT ? EXACT : most < 0 ? RIGHT : ANY_DOUBLE;
}

void set_factor(Factors *factors, int lane, int form, int32_t multiplier, int32_t shift) {
    int32_t left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
    factors->exact_multiplier[lane] = multiplier;
    factors->exact_shift[lane] = shift;
    factors->multiplier[lane] = multiplier;
    if (lane % 2)
        factors->odd[lane - 1] = multiplier;
    if (form == ANY_SINGLE) {
        int64_t half = (int64_t)1 << (RAISED - shift);
        memcpy((char *)(lane % 2 ? &factors->nudge_odd : &factors->nudge) + lane / 2 * sizeof half, &half, sizeof half);
        factors->right[lane] = right - 1;
        return;
    }
    factors->left[lane] = left;
    factors->most[lane] = (1 << RAISED) >> left;
    factors->least[lane] = -factors->most[lane];
    factors->right[lane] = right;
    factors->half[lane] = right ? 1 << (right - 1) : 0;
    factors->away[lane] = right ? -1 : 0;
}

int64_t rescale_exact(int64_t sum, int32_t multiplier, int32_t shift, int32_t rounding) {
    if (rounding == SINGLE)
        return (sum * multiplier + ((int64_t)1 << (30 - shift))) >> (31 - shift);
    int64_t raised = shift > 0 ? sum * ((int64_t)1 << shift) : sum;
    raised = raised > INT32_MAX ? INT32_MAX : raised < INT32_MIN ? INT32_MIN : raised;
    int64_t high = (raised * multiplier + ((int64_t)1 << 30)) >> 31;
    if (shift >= 0)
        return high;
    int64_t half = (int64_t)1 << (-shift - 1);
    return high < 0 ? -((-high + half) >> -shift) : (high + half) >> -shift;
}
