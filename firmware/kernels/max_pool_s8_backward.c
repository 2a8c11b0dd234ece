#include "kernels/max_pool_s8_backward.h"

#include <string.h>

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

static inline void spread(const int8_t *in, const int8_t *error, const layer_shape_t *shape, uint32_t k, int8_t *input_error) {
    const uint32_t column = shape->in_c;
    const uint32_t row = shape->in_w * column;
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            const uint32_t window = y * k * row + x * k * column;
            for (uint32_t c = 0; c < column; c++) {
                const uint32_t at = window + c + first_maximum(in + window + c, k, column, row);
                input_error[at] = *error++;
            }
        }
    }
}

void max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape, int8_t *input_error) {
    memset(input_error, 0, shape_inputs(shape));
    if (shape->kernel_h == 2) {
        spread(in, error, shape, 2, input_error); /* unrolled by the compiler */
    } else {
        spread(in, error, shape, shape->kernel_h, input_error);
    }
}
