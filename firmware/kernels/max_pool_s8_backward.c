#include "kernels/pooling.h"

#include <string.h>

#include "kernels/max_pool_row_s8_backward.h"

/* One row of k x k windows. */
static void spread_row(const int8_t *in, uint32_t windows, uint32_t k, uint32_t column, uint32_t row,
                       const int8_t *error, int8_t *input_error) {
    for (uint32_t at = 0; windows > 0; windows--, at += (k - 1) * column) {
        for (uint32_t c = 0; c < column; c++, at++) {
            input_error[at + first_maximum(in + at, k, column, row)] = *error++;
        }
    }
}

void max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t *input_error) {
    const uint32_t k = shape->kernel_h, column = shape->in_c, windows = shape->out_w;
    const uint32_t row = shape->in_w * column;
    memset(input_error, 0, shape_inputs(shape));
    for (uint32_t y = 0; y < shape->out_h; y++) {
        if (k == 2) {
            max_pool_row_s8_backward(in, windows, column, row, error, input_error);
        } else {
            spread_row(in, windows, k, column, row, error, input_error);
        }
        in += k * row;
        input_error += k * row;
        error += windows * column;
    }
}
