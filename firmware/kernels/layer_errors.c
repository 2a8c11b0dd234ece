/* Errors between the backward passes of layers: docs/arithmetic-tflite.md, sections 5 and 7.3. */
#include "kernels/layer_errors.h"

#include "arith/float32.h"
#include "arith/integers.h"

void tflite_clamp_s8_backward(const int8_t *out, int8_t *error, uint32_t n, int8_t act_min, int8_t act_max) {
    for (uint32_t i = 0; i < n; i++) {
        error[i] = out[i] > act_min && out[i] < act_max ? error[i] : 0;
    }
}

enum { ONE = 15, HALF = 1 << (ONE - 1) }; /* k_o = 2^15 is a factor of 1 */

float channel_factor(const int32_t *multiplier, const int8_t *shift, uint32_t o) {
    return (float)multiplier[o] * float32_power_of_two(shift[o] - 31);
}

uint32_t largest_channel(const int32_t *multiplier, const int8_t *shift, uint32_t channels) {
    uint32_t largest = 0;
    for (uint32_t o = 1; o < channels; o++) {
        largest = channel_factor(multiplier, shift, o) > channel_factor(multiplier, shift, largest) ? o : largest;
    }
    return largest;
}

/* k of a channel `below` shifts under the largest one, -1 (both are one float) to 61. The first quotient is below 2^17;
   its floor divided by a power of two is that of the whole. */
static uint32_t level_of(int32_t multiplier, int32_t largest, int32_t below) {
    const uint64_t raised = (uint64_t)multiplier << (below < 0 ? ONE + 1 : ONE);
    const uint32_t quotient = (uint32_t)(raised / (uint32_t)largest);
    return below <= 0 ? quotient : below < 32 ? quotient >> below : 0;
}

static int32_t levelled(int32_t error, uint32_t k) {
    const int32_t size = (int32_t)((magnitude(error) * k + HALF) >> ONE);
    return error < 0 ? -size : size;
}

void level_errors_s8(const int8_t *error, uint32_t positions, uint32_t channels, const int32_t *multiplier,
                     const int8_t *shift, uint32_t largest, int8_t *out) {
    for (uint32_t o = 0; o < channels; o++) {
        const uint32_t k = level_of(multiplier[o], multiplier[largest], shift[largest] - shift[o]);
        for (uint32_t i = o; i < positions * channels; i += channels) {
            out[i] = (int8_t)levelled(error[i], k);
        }
    }
}

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
