#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/bits.h"
#include "arith/round_shift.h"
#include "kernels/backward_dsp.h"
#include "kernels/fully_connected.h"

/* Errors that leave something, and the rows of the gradient that belong to them. */
typedef struct {
    uint32_t count;
    int32_t error[OUTER_ROWS];
    int32_t *row[OUTER_ROWS];
} gathered_t;

/* gradient + trunc(product / 2^shift), with `below` = 32 - shift and `factor` = 2^below; shift in 2..13. As a product
   has 15 bits, its highest `shift` bits are those of its sign: what takes floor to trunc. */
static inline int32_t add_shifted(int32_t gradient, int32_t product, uint32_t below, int32_t factor) {
    return add_upper_product(gradient, product + (int32_t)((uint32_t)product >> below), factor);
}

/* Not inlined, so that its loop has all registers. */
__attribute__((noinline)) static void add_row_shifted(const int8_t *in, int32_t error, uint32_t inputs, int32_t shift,
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

/* Add the rows that have been gathered; those that are missing add 0 to the first. */
static void add_rows(const int8_t *in, uint32_t inputs, gathered_t *gathered) {
    for (uint32_t i = gathered->count; i < OUTER_ROWS; i++) {
        gathered->error[i] = 0;
        gathered->row[i] = gathered->row[0];
    }
    const uint32_t fours = inputs / 4 * 4;
    outer_products_t products = {.in = in, .end = in + fours};
    for (uint32_t i = 0; i < OUTER_ROWS; i++) {
        products.row[i] = gathered->row[i];
        for (uint32_t j = fours; j < inputs; j++) {
            gathered->row[i][j] += gathered->error[i] * in[j];
        }
    }
    products.errors[0] = low_lanes((uint32_t)gathered->error[0], (uint32_t)gathered->error[1]);
    products.errors[1] = low_lanes((uint32_t)gathered->error[2], (uint32_t)gathered->error[3]);
    if (fours > 0) {
        outer_products(&products);
    }
    gathered->count = 0;
}

void fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                        int32_t shift, int32_t *gradient) {
    gathered_t gathered = {.count = 0};
    for (uint32_t o = 0; o < outputs; o++, gradient += inputs) {
        if (trunc_shift((int32_t)magnitude(error[o]) * 127, shift) == 0) {
            continue; /* the shift leaves nothing of the largest product there can be */
        }
        if (shift > 0) {
            add_row_shifted(in, error[o], inputs, shift, gradient);
            continue;
        }
        gathered.error[gathered.count] = error[o];
        gathered.row[gathered.count] = gradient;
        if (++gathered.count == OUTER_ROWS) {
            add_rows(in, inputs, &gathered);
        }
    }
    if (gathered.count > 0) {
        add_rows(in, inputs, &gathered);
    }
}

#endif
