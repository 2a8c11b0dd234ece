/* conv2d and fully_connected of the format bfp8, error of the input: docs/arithmetic.md, section 7. */
#include "kernels/convolution.h"

#include <stdint.h>
#include <string.h>

#include "kernels/conv_input_error.h"
#include "kernels/dsp.h"
#include "kernels/fully_connected.h"
#include "kernels/windows.h"

#if KERNELS_DSP || KERNELS_THUMB1

void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const affine8_errors_t all = {.error = error, .count = shape->out_c};
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    conv_add_input_error(&all, weights, 0, shape, 1, 1, acc);
}

void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc) {
    const affine8_errors_t all = {.error = error, .count = outputs};
    memset(acc, 0, inputs * sizeof acc[0]);
    matrix_add_input_error(&all, weights, inputs, acc);
}

#else

enum { WEIGHTED_ROWS = 4 }; /* rows taken together */

/* Errors that are not 0, at most WEIGHTED_ROWS of them, and the rows of weights that belong to them. */
typedef struct {
    int32_t error[WEIGHTED_ROWS];
    const int8_t *row[WEIGHTED_ROWS];
} weighted_rows_t;

/* Take the next errors that are not 0 from error[*next..end-1]; row o of the weights is at `weights` + o * `stride`.
   Moves *next on. Rows that are missing at the end get error 0. Returns how many there are. */
SEPARATE static uint32_t weighted_rows_take(weighted_rows_t *rows, const int8_t *error, uint32_t *next, uint32_t end,
                                            const int8_t *weights, uint32_t stride) {
    uint32_t taken = 0;
    uint32_t o = *next;
    for (; o < end && taken < WEIGHTED_ROWS; o++) {
        if (error[o] != 0) {
            rows->error[taken] = error[o];
            rows->row[taken] = weights + o * stride;
            taken++;
        }
    }
    *next = o;
    for (uint32_t i = taken; i < WEIGHTED_ROWS; i++) {
        rows->error[i] = 0;
        rows->row[i] = weights;
    }
    return taken;
}

/* acc[j] += the sum over the rows of error times row[from + j], for j in 0..n-1. */
SEPARATE static void weighted_rows_add(const weighted_rows_t *rows, uint32_t from, uint32_t n, int32_t *acc) {
    const int32_t e0 = rows->error[0], e1 = rows->error[1], e2 = rows->error[2], e3 = rows->error[3];
    const int8_t *w0 = rows->row[0] + from, *w1 = rows->row[1] + from, *w2 = rows->row[2] + from,
                 *w3 = rows->row[3] + from;
    for (uint32_t j = 0; j < n; j++) {
        acc[j] += e0 * w0[j] + e1 * w1[j] + e2 * w2[j] + e3 * w3[j];
    }
}

/* Spread the errors of one output position over the inputs under its window. */
static void spread_position(const weighted_rows_t *rows, const layer_shape_t *shape, uint32_t y, uint32_t x,
                            int32_t *acc) {
    const inside_t vertical = taps_inside(y, shape->kernel_h, shape->padding_h, shape->in_h);
    const inside_t horizontal = taps_inside(x, shape->kernel_w, shape->padding_w, shape->in_w);
    const uint32_t in_c = shape->in_c;
    const uint32_t n = (horizontal.end - horizontal.first) * in_c;
    for (uint32_t ky = vertical.first; ky < vertical.end; ky++) {
        const uint32_t in_y = vertical.input + (ky - vertical.first);
        weighted_rows_add(rows, (ky * shape->kernel_w + horizontal.first) * in_c, n,
                          acc + (in_y * shape->in_w + horizontal.input) * in_c);
    }
}

void conv2d_s8_input_error(const int8_t *error, const int8_t *weights, const layer_shape_t *shape, int32_t *acc) {
    const uint32_t taps = shape_taps(shape);
    memset(acc, 0, shape_inputs(shape) * sizeof acc[0]);
    for (uint32_t y = 0; y < shape->out_h; y++) {
        for (uint32_t x = 0; x < shape->out_w; x++) {
            weighted_rows_t rows;
            uint32_t next = 0;
            while (weighted_rows_take(&rows, error, &next, shape->out_c, weights, taps) > 0) {
                spread_position(&rows, shape, y, x, acc);
            }
            error += shape->out_c;
        }
    }
}

void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc) {
    weighted_rows_t rows;
    uint32_t next = 0;
    memset(acc, 0, inputs * sizeof acc[0]);
    while (weighted_rows_take(&rows, error, &next, outputs, weights, inputs) > 0) {
        weighted_rows_add(&rows, 0, inputs, acc);
    }
}

#endif
