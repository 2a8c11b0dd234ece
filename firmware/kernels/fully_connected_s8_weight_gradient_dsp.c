#include "kernels/dsp.h"

#if KERNELS_DSP

#include "arith/bits.h"
#include "arith/round_shift.h"
#include "kernels/backward_dsp.h"
#include "kernels/fully_connected.h"

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

#endif
