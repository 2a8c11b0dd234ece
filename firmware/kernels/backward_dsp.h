/* Innermost loops of the backward passes on Armv7E-M. Private to the DSP variants of the kernels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* The same for the errors of all channels, except those that are 0; row o is at `row` + o * `stride`. */
static inline void weighted_runs_add_all(const runs_t *runs, const int8_t *error, uint32_t channels, const int8_t *row,
                                         uint32_t stride) {
    weighted_rows_t rows;
    uint32_t count = 0;
    for (const int8_t *end = error + channels; error != end; row += stride) {
        const int32_t e = *error++;
        if (e != 0) {
            count = weighted_runs_take(runs, &rows, count, row, e);
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

/* The weights of four channels, each of `taps` taps. */
void four_channels_widen(const int8_t *weights, uint32_t taps, four_weights_t *wide);

/* acc[j] += the sum over the channels of error times weight; `weights` is at the first tap to add, `errors` are
   four bytes. */
void four_channels_add(const runs_t *runs, const four_weights_t *weights, uint32_t errors);

/* Weight gradient of conv2d along the positions: every tap takes four products of four neighbours at once. The loops
   above go along the taps instead: they skip every error of 0, but widen all inputs again for each error. */

/* Whether it is the shorter way: the kernel is 3 or 5 wide, and few errors are 0. */
bool gradient_fours_take(const layer_shape_t *shape, const int8_t *error);

/* The padded input, (in_h + 2 padding) x (in_w + 2 padding) bytes for each channel; up to 3 bytes
   after it are read. */
void gradient_fours_planes(const int8_t *in, const layer_shape_t *shape, int8_t *planes);

/* Add the products of all positions to the sums of one channel; `error` is at the channel. */
void gradient_fours_add(const int8_t *planes, const int8_t *error, const layer_shape_t *shape, int32_t *sum);

/* One vector times four errors, added to four rows: the weight gradient of fully_connected. */

enum { OUTER_ROWS = 4 };

typedef struct {
    const int8_t *in, *end; /* a multiple of four inputs, four at least */
    int32_t *row[OUTER_ROWS];
    uint32_t errors[OUTER_ROWS / 2]; /* of each two rows, in lanes of 16 bits */
} outer_products_t;

/* row[i][j] += error i times in[j]. A row may be there more than once. */
void outer_products(const outer_products_t *products);
