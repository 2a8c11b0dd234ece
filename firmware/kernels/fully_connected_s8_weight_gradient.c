/* fully_connected, gradient of the weights: docs/arithmetic.md, section 7. */
#include "kernels/fully_connected.h"

#include "arith/integers.h"
#include "kernels/backward_dsp.h"
#include "kernels/dsp.h"
#include "kernels/terms_s8.h"

#if KERNELS_DSP

/* gradient + trunc(product / 2^shift), with `below` = 32 - shift and `factor` = 2^below; shift in 2..13. As a product
   has 15 bits, its highest `shift` bits are those of its sign: what takes floor to trunc. */
static inline int32_t add_shifted(int32_t gradient, int32_t product, uint32_t below, int32_t factor) {
    return add_upper_product(gradient, product + (int32_t)((uint32_t)product >> below), factor);
}

/* Not inlined, so that its loop has all registers. */
SEPARATE static void add_row_shifted(const int8_t *in, int32_t error, uint32_t inputs, int32_t shift,
                                     int32_t *gradient) {
    const uint32_t below = 32u - (uint32_t)shift, lane = (uint32_t)error;
    const int32_t factor = (int32_t)(1u << below);
    const int8_t *const end = in + inputs, *const fours = in + (shift == 1 ? 0 : inputs / 4 * 4); /* 2^31 is no int32 */
    for (; in != fours; in += 4) {
        const uint32_t word = load_word(in), even = even_lanes(word), odd = odd_lanes(word);
        int32_t sum[4];
        take_four(gradient, sum);
        sum[0] = add_shifted(sum[0], low_product(even, lane), below, factor);
        sum[1] = add_shifted(sum[1], low_product(odd, lane), below, factor);
        sum[2] = add_shifted(sum[2], high_product(even, lane), below, factor);
        sum[3] = add_shifted(sum[3], high_product(odd, lane), below, factor);
        gradient = put_four(gradient, sum);
    }
    for (; in != end; in++, gradient++) {
        *gradient += trunc_shift(error * *in, shift);
    }
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient) {
    outer_rows_t rows = {.in = in, .inputs = inputs};
    for (uint32_t o = 0; o < outputs; o++, gradient += inputs) {
        if (trunc_shift((int32_t)magnitude(error[o]) * 127, shift) == 0) {
            continue; /* the shift leaves nothing of the largest product there can be */
        }
        if (shift > 0) {
            add_row_shifted(in, error[o], inputs, shift, gradient);
            continue;
        }
        outer_rows_take(&rows, gradient, error[o]);
    }
    outer_rows_finish(&rows);
}

#elif KERNELS_THUMB1

enum { CHUNK = 112 }; /* inputs at a time, 8 bytes of stack each */

/* Inputs that are not 0: their magnitudes, by sign. */
typedef struct {
    term_t term[CHUNK]; /* the positive ones from the front on, the negative ones before the end */
    term_t *positive_end, *negative;
} inputs_t;

static void gather(inputs_t *list, const int8_t *in, uint32_t first, uint32_t n) {
    list->positive_end = list->term;
    list->negative = list->term + CHUNK;
    for (uint32_t j = first; j < first + n; j++) {
        if (in[j] > 0) {
            *list->positive_end++ = (term_t){.at = 4 * j, .factor = in[j]};
        } else if (in[j] < 0) {
            *--list->negative = (term_t){.at = 4 * j, .factor = -in[j]};
        }
    }
}

/* The products of one output; nothing to do if the shift leaves nothing of the largest there can be. */
static void add_row(const inputs_t *list, int32_t error, int32_t shift, int32_t *gradient) {
    const int32_t m = (int32_t)magnitude(error);
    if (trunc_shift(m * 127, shift) == 0) {
        return;
    }
    const uint32_t positive = (uint32_t)(list->positive_end - list->term),
                   negative = (uint32_t)(list->term + CHUNK - list->negative);
    terms_add_magnitudes(list->term, positive, m, (uint32_t)shift, gradient, error < 0);
    terms_add_magnitudes(list->negative, negative, m, (uint32_t)shift, gradient, error > 0);
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient) {
    for (uint32_t first = 0; first < inputs; first += CHUNK) {
        inputs_t list;
        gather(&list, in, first, inputs - first < CHUNK ? inputs - first : CHUNK);
        for (uint32_t o = 0; o < outputs; o++) {
            add_row(&list, error[o], shift, gradient + o * inputs);
        }
    }
}

#else

static inline void add_to_row(const int8_t *in, int32_t error, uint32_t inputs, int32_t shift, int32_t *gradient) {
    for (uint32_t j = 0; j < inputs; j++) {
        gradient[j] += trunc_shift(error * in[j], shift);
    }
}

/* The products of one output; nothing to do if the shift leaves nothing of the largest there can be. */
static void add_row(const int8_t *in, int32_t error, uint32_t inputs, int32_t shift, int32_t *gradient) {
    if (trunc_shift((int32_t)magnitude(error) * 127, shift) == 0) {
        return;
    }
    if (shift == 0) {
        add_to_row(in, error, inputs, 0, gradient); /* without the shift, the compiler sees */
    } else {
        add_to_row(in, error, inputs, shift, gradient);
    }
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient) {
    for (uint32_t o = 0; o < outputs; o++) {
        add_row(in, error[o], inputs, shift, gradient);
        gradient += inputs;
    }
}

#endif
