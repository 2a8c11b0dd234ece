/* Innermost loops of the backward passes on Armv7E-M. Private to the DSP forms of the kernels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/affine8.h"
#include "kernels/shapes.h"

/* Sums of four rows of weights, each times its error: the input errors of conv2d and fully_connected. */

enum { WEIGHTED_ROWS = 4 };

/* The part of a row to add: runs of contiguous taps, each to be added to as many contiguous sums. */
typedef struct {
    uint32_t fours, rest;        /* bytes of the sums of a run: of whole fours, and after them */
    uint32_t row_skip, acc_skip; /* bytes from the end of a run to the next, in the row and in the sums */
    const int32_t *acc_end;      /* after the last run and its skip */
    int32_t *acc;
} runs_t;

/* Errors and their rows, from the first tap to add. */
typedef struct {
    const int8_t *row[WEIGHTED_ROWS];
    int16_t error[WEIGHTED_ROWS];
} weighted_rows_t;

/* acc[j] += the sum over the rows of error times row[j]. */
void weighted_runs_add(const runs_t *runs, const weighted_rows_t *rows);

/* Take one more row, the `count` + 1st, and add them when there are four; returns how many wait. */
static inline uint32_t weighted_runs_take(const runs_t *runs, weighted_rows_t *rows, uint32_t count, const int8_t *row,
                                          int32_t error) {
    rows->row[count] = row;
    rows->error[count] = (int16_t)error;
    if (++count == WEIGHTED_ROWS) {
        weighted_runs_add(runs, rows);
        count = 0;
    }
    return count;
}

/* Add the rows that wait, made up with errors of 0. */
static inline void weighted_runs_finish(const runs_t *runs, weighted_rows_t *rows, uint32_t count) {
    if (count > 0) {
        for (; count < WEIGHTED_ROWS; count++) {
            rows->row[count] = rows->row[0];
            rows->error[count] = 0;
        }
        weighted_runs_add(runs, rows);
    }
}

/* The same for the errors of a position from `error` on, except those that stand for 0; row o of the weights is at
   `row` + o * `stride`. `kept` NULL: all channels are. */
static inline void weighted_runs_add_all(const runs_t *runs, const affine8_errors_t *errors, const int8_t *error,
                                         const int8_t *row, uint32_t stride) {
    const uint16_t *kept = errors->kept;
    const int32_t zero = errors->zero;
    weighted_rows_t rows;
    uint32_t count = 0;
    if (kept == NULL) {
        for (const int8_t *end = error + errors->count; error != end; row += stride) {
            const int32_t e = *error++ - zero;
            if (e != 0) {
                count = weighted_runs_take(runs, &rows, count, row, e);
            }
        }
    } else {
        for (const int8_t *end = error + errors->count; error != end; kept++) {
            const int32_t e = *error++ - zero;
            if (e != 0) {
                count = weighted_runs_take(runs, &rows, count, row + *kept * stride, e);
            }
        }
    }
    weighted_runs_finish(runs, &rows, count);
}

/* Four errors of one position, each times the weights of its channel, which are widened beforehand: the input error of
   conv2d for kernels of few taps. */

/* The weights of one tap in lanes of 16 bits: of the first and the third channel, of the second and the fourth. */
typedef struct {
    uint32_t even, odd;
} four_weights_t;

/* The weights of four channels less `zero`, each of `taps` taps; of the first `none` channels, 0 to 3, they are 0. */
void four_channels_widen(const int8_t *const rows[4], uint32_t taps, int8_t zero, uint32_t none, four_weights_t *wide);

/* acc[j] += the sum over the channels of error times weight; `weights` is at the first tap to add, the errors are in
   lanes as the weights are. */
void four_channels_add(const runs_t *runs, const four_weights_t *weights, uint32_t even, uint32_t odd);

/* The same, where sums begin with it. */
void four_channels_begin(const runs_t *runs, const four_weights_t *weights, uint32_t even, uint32_t odd);

/* Weight gradient of conv2d along the positions: every tap takes four products of four neighbours at once. The loops
   above go along the taps instead: they skip every error of 0, but widen all inputs again for each error. */

/* Whether it is the shorter way: the kernel is 3 or 5 wide, and few errors stand for 0. */
bool gradient_fours_take(const layer_shape_t *shape, const affine8_errors_t *errors);

/* Columns under all windows of a row of positions, for a stride of 1. */
static inline uint32_t gradient_fours_width(const layer_shape_t *shape) {
    return shape->out_w + shape->kernel_w - 1u;
}

/* Rows first..first + rows - 1 of the input, which is padded with `zero`: of each channel so many rows of
   gradient_fours_width() bytes; up to 3 bytes after them are read. */
void gradient_fours_planes(const int8_t *in, const layer_shape_t *shape, int8_t zero, uint32_t first, uint32_t rows,
                           int8_t *planes);

/* Add the products of `count` rows of positions, whose windows begin in the first rows of the planes, to the sums of
   one channel, modulo 2^32; `error` is at the channel. */
void gradient_fours_add(const int8_t *planes, uint32_t count, const affine8_errors_t *errors, const int8_t *error,
                        const layer_shape_t *shape, int32_t *sum);

/* One vector times four errors, added to four rows: the weight gradient of fully_connected. */

enum { OUTER_ROWS = 4 };

/* Errors that wait for a fourth, and the rows of the gradient that belong to them. */
typedef struct {
    const int8_t *in;
    uint32_t inputs;
    int32_t zero; /* of the inputs */
    uint32_t count;
    int32_t error[OUTER_ROWS];
    int32_t *row[OUTER_ROWS];
} outer_rows_t;

/* row += the inputs less their zero point times an error. It has been added after outer_rows_finish(). */
void outer_rows_take(outer_rows_t *rows, int32_t *row, int32_t error);
void outer_rows_finish(outer_rows_t *rows);
