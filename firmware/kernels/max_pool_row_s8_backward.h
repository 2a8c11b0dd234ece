/* One row of 2 x 2 windows of max_pool's backward pass: docs/arithmetic.md, section 7. Private to max_pool_s8_backward.
   */
#pragma once

#include <stdint.h>

/* Offset of the first maximum of one channel of a window, k x k positions `column` and `row` bytes apart. */
static inline uint32_t first_maximum(const int8_t *in, uint32_t k, uint32_t column, uint32_t row) {
    uint32_t found = 0;
    for (uint32_t ky = 0; ky < k; ky++) {
        for (uint32_t kx = 0; kx < k; kx++) {
            const uint32_t at = ky * row + kx * column;
            found = in[at] > in[found] ? at : found;
        }
    }
    return found;
}

/* error[w * column + c] to the first maximum of channel c of window w, w in 0..windows-1, at least one; `column` is the
   number of channels. The other positions of the windows are 0 already. */
void max_pool_row_s8_backward(const int8_t *in, uint32_t windows, uint32_t column, uint32_t row, const int8_t *error,
                              int8_t *input_error);
