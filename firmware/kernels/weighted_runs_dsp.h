/* Sums of four rows of weights, each times its error: the innermost loop of the input errors of conv2d and fully_connected. */
#ifndef WEIGHTED_RUNS_DSP_H
#define WEIGHTED_RUNS_DSP_H

#include <stdint.h>

enum { WEIGHTED_ROWS = 4 };

/* The part of a row that is wanted: runs of contiguous taps, each to be added to as many contiguous sums. */
typedef struct {
    uint32_t fours, rest;        /* bytes of the sums of a run: of whole fours, and behind them */
    uint32_t row_skip, acc_skip; /* bytes from the end of a run to the next, in the row and in the sums */
    const int32_t *acc_end;      /* behind the last run and its skip */
    int32_t *acc;
} runs_t;

/* Errors and their rows, from the first tap that is wanted. */
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

#endif
