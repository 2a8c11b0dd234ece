#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/max_pool_row_s8_backward.h"

/* Four channels of a window. Of two that are equal the first one counts as the larger, in each pair
   and of the pairs. */
static inline void four_channels(const int8_t *in, uint32_t column, uint32_t row, const int8_t *error,
                                 int8_t *input_error) {
    const uint32_t a = load_word(in), b = load_word(in + column), c = load_word(in + row),
                   d = load_word(in + row + column);
    const uint32_t ab = where_at_least_s8(a, b, a, b), cd = where_at_least_s8(c, d, c, d);
    const uint32_t left_above = where_at_least_s8(a, b, UINT32_MAX, 0),
                   left_below = where_at_least_s8(c, d, UINT32_MAX, 0);
    const uint32_t above = where_at_least_s8(ab, cd, load_word(error), 0), below = load_word(error) ^ above;
    store_word(input_error, above & left_above);
    store_word(input_error + column, above & ~left_above);
    store_word(input_error + row, below & left_below);
    store_word(input_error + row + column, below & ~left_below);
}

__attribute__((noinline)) static void channel_by_channel(const int8_t *in, uint32_t windows, uint32_t column,
                                                         uint32_t row, const int8_t *error, int8_t *input_error) {
    for (; windows > 0; windows--, in += column, input_error += column) { /* and as much again by the channels */
        for (uint32_t c = 0; c < column; c++, in++, input_error++) {
            input_error[first_maximum(in, 2, column, row)] = *error++;
        }
    }
}

/* The last four channels of a window may have been among the first. */
void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row, const int8_t *error,
                              int8_t *input_error) {
    if (column < 4) {
        channel_by_channel(in, windows, column, row, error, input_error);
        return;
    }
    const uint32_t last = column - 4;
    for (; windows > 0; windows--, in += 2 * column, error += column, input_error += 2 * column) {
        for (uint32_t c = 0; c < last; c += 4) {
            four_channels(in + c, column, row, error + c, input_error + c);
        }
        four_channels(in + last, column, row, error + last, input_error + last);
    }
}

#endif
