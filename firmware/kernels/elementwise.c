/* relu, forward and backward (docs/arithmetic.md, sections 4 and 7); add and table (docs/arithmetic-zeroth-order.md,
   section 1). */
#include "kernels/elementwise.h"

#include "arith/rescale.h"
#include "kernels/dsp.h"

#if KERNELS_DSP

void relu_s8(int8_t *values, uint32_t n) {
    for (; n >= 4; n -= 4, values += 4) {
        const uint32_t word = load_word(values);
        store_word(values, where_at_least_s8(word, 0, word, 0));
    }
    for (; n > 0; n--, values++) {
        *values = *values > 0 ? *values : 0;
    }
}

#elif KERNELS_THUMB1

#define SIGNS 0x80808080u

/* Four values at an aligned address. */
typedef struct __attribute__((may_alias)) {
    uint32_t bytes;
} word_t;

/* The sign of each byte becomes a mask of its own byte: 2^8 - 1 times. */
static uint32_t without_negative_bytes(uint32_t word) {
    const uint32_t negative = (word & SIGNS) >> 7;
    return word & ~((negative << 8) - negative);
}

static inline void relu_bytes(int8_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

void relu_s8(int8_t *values, uint32_t n) {
    const uint32_t unaligned = -(uint32_t)(uintptr_t)values % sizeof(word_t);
    const uint32_t before = unaligned < n ? unaligned : n;
    word_t *word = (word_t *)(void *)(values + before);
    word_t *const end = word + (n - before) / sizeof(word_t);
    for (; word != end; word++) {
        word->bytes = without_negative_bytes(word->bytes);
    }
    relu_bytes(values, before);
    relu_bytes((int8_t *)end, (n - before) % sizeof(word_t));
}

#else

void relu_s8(int8_t *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = values[i] > 0 ? values[i] : 0;
    }
}

#endif

#if KERNELS_DSP

void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n) {
    for (; n >= 4; n -= 4, out += 4, error += 4) {
        store_word(error, where_at_least_s8(0, load_word(out), 0, load_word(error)));
    }
    for (; n > 0; n--, out++, error++) {
        *error = *out > 0 ? *error : 0;
    }
}

#else

void relu_s8_backward(const int8_t *out, int8_t *error, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        error[i] = out[i] > 0 ? error[i] : 0;
    }
}

#endif

/* Everything fits int32: what is rescaled is at most 2^28 of an input, 2^29 of their sum, and no shift
   is to the left. */

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

/* What an input adds to the sum, by its value, from -128 on: far fewer than a layer has outputs. */
enum { VALUES = 256 };

static void fill(const tflite_operand_t *operand, bool single, int32_t terms[VALUES]) {
    for (int32_t q = -128; q < 128; q++) {
        const int32_t value = (q - operand->zero) * (1 << 20);
        if (single) {
            *terms++ = (int32_t)rescale_single(value, operand->multiplier, operand->shift);
        } else {
            *terms++ = divide_half_away(first_rounding(value, operand->multiplier), -operand->shift);
        }
    }
}

static inline int8_t held(int32_t value, int32_t least, int32_t most) {
    value = value < least ? least : value;
    return (int8_t)(value > most ? most : value);
}

typedef struct {
    int32_t a[VALUES], b[VALUES];
} terms_t;

static inline int32_t sum_of(const terms_t *terms, int8_t a, int8_t b) {
    return terms->a[a + 128] + terms->b[b + 128];
}

/* The second rounding, half away from zero, by a shift of n: (x + 2^(n-1) - 1 if x < 0) / 2^n, downwards. For n = 0
   there is none. */
static void add_double(const int8_t *a, const int8_t *b, uint32_t n, const terms_t *terms, const tflite_add_t *add,
                       int8_t *out) {
    const int32_t multiplier = add->out.multiplier, zero = add->out.zero, least = add->act_min, most = add->act_max;
    const int32_t shift = -add->out.shift, sign = shift == 0 ? 0 : -1,
                  half = shift == 0 ? 0 : (int32_t)(1u << (shift - 1));
    for (uint32_t i = 0; i < n; i++) {
        const int32_t high = first_rounding(sum_of(terms, a[i], b[i]), multiplier);
        out[i] = held(((high + (high >> 31 & sign) + half) >> shift) + zero, least, most);
    }
}

static void add_single(const int8_t *a, const int8_t *b, uint32_t n, const terms_t *terms, const tflite_add_t *add,
                       int8_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const int64_t value = rescale_single(sum_of(terms, a[i], b[i]), add->out.multiplier, add->out.shift);
        out[i] = held((int32_t)value + add->out.zero, add->act_min, add->act_max);
    }
}

void tflite_add_s8(const int8_t *a, const int8_t *b, uint32_t n, const tflite_add_t *add, int8_t *out) {
    terms_t terms;
    fill(&add->a, add->single, terms.a);
    fill(&add->b, add->single, terms.b);
    (add->single ? add_single : add_double)(a, b, n, &terms, add, out);
}

void tflite_table_s8(const int8_t *in, uint32_t n, const int8_t *table, int8_t *out) {
    const int8_t *const middle = table + 128;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = middle[in[i]];
    }
}

void centre_pixels_s8(int8_t *values, const uint8_t *pixels, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (int8_t)(pixels[i] - 128);
    }
}
