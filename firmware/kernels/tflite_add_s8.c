#include "kernels/tflite_add_s8.h"

#include "arith/rescale.h"
#include "kernels/dsp.h"

/* Everything fits int32: what is rescaled is at most 2^28 of an input, 2^29 of their sum, and no shift is to the left. */

/* The first rounding of `double`: floor((value * multiplier + 2^30) / 2^31). */
#if KERNELS_DSP

static inline int32_t first_rounding(int32_t value, int32_t multiplier) {
    return upper_product(2 * value, multiplier);
}

#else

/* By halves: both factors a * 2^16 + b, of the value with b in -2^15..2^15 - 1, so that no sum leaves int32. */
static inline int32_t first_rounding(int32_t value, int32_t multiplier) {
    const int32_t value_low = (int16_t)((uint32_t)value & 0xFFFFu), value_high = (value - value_low) >> 16;
    const int32_t low = (int32_t)((uint32_t)multiplier & 0xFFFFu), high = multiplier >> 16;
    const int32_t middle = value_high * low + value_low * high;
    return 2 * (value_high * high) + ((middle + (value_low * low >> 16) + (1 << 14)) >> 15);
}

#endif

/* The second rounding, half away from zero, by a shift of n: (x + 2^(n-1) - 1 if x < 0) / 2^n, downwards. */
typedef struct {
    int32_t multiplier, zero;
    int32_t half, sign, n; /* half and sign are 0 where n is */
} double_t;

static double_t double_of(const tflite_operand_t *operand) {
    const int32_t n = -operand->shift;
    return (double_t){.multiplier = operand->multiplier,
                      .zero = operand->zero,
                      .half = n == 0 ? 0 : (int32_t)(1u << (n - 1)),
                      .sign = n == 0 ? 0 : -1,
                      .n = n};
}

static inline int32_t rescaled_twice(int32_t value, const double_t *operand) {
    const int32_t high = first_rounding(value, operand->multiplier);
    return (high + (high >> 31 & operand->sign) + operand->half) >> operand->n;
}

static inline int8_t held(int32_t value, int32_t least, int32_t most) {
    value = value < least ? least : value;
    return (int8_t)(value > most ? most : value);
}

static void add_double(const int8_t *a, const int8_t *b, uint32_t n, const tflite_add_t *add, int8_t *out) {
    const double_t of_a = double_of(&add->a), of_b = double_of(&add->b), of_out = double_of(&add->out);
    const int32_t least = add->act_min, most = add->act_max; /* `out` may lie over anything, says its type */
    for (uint32_t i = 0; i < n; i++) {
        const int32_t term_a = rescaled_twice((a[i] - of_a.zero) * (1 << 20), &of_a);
        const int32_t term_b = rescaled_twice((b[i] - of_b.zero) * (1 << 20), &of_b);
        out[i] = held(of_out.zero + rescaled_twice(term_a + term_b, &of_out), least, most);
    }
}

static int32_t rescaled_once(int32_t value, const tflite_operand_t *operand) {
    return (int32_t)rescale_single(value, operand->multiplier, operand->shift);
}

static void add_single(const int8_t *a, const int8_t *b, uint32_t n, const tflite_add_t *add, int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const int32_t term_a = rescaled_once((a[i] - add->a.zero) * (1 << 20), &add->a);
        const int32_t term_b = rescaled_once((b[i] - add->b.zero) * (1 << 20), &add->b);
        out[i] = held(add->out.zero + rescaled_once(term_a + term_b, &add->out), add->act_min, add->act_max);
    }
}

void tflite_add_s8(const int8_t *a, const int8_t *b, uint32_t n, const tflite_add_t *add, int8_t *out) {
    if (add->single) {
        add_single(a, b, n, add, out);
    } else {
        add_double(a, b, n, add, out);
    }
}
