/* Sums of four rows of weights, each times its error: the innermost loop of the input errors of conv2d and fully_connected. */
#ifndef WEIGHTED_RUNS_DSP_H
#define WEIGHTED_RUNS_DSP_H

#include <stdint.h>

enum { WEIGHTED_ROWS = 4 };

/* The part of a row that is wanted: runs of contiguous taps, each to be added to as many contiguous sums. */
typedef struct {
    uint32_t fours, rest;         /* bytes of the sums of a run: of whole fours, and behind them */
    uint32_t row_skip, acc_skip;  /* bytes from the end of a run to the next, in the row and in the sums */
    const int32_t *acc_end;       /* behind the last run and its skip */
    int32_t *acc;
} runs_t;

/* Errors that are not 0 and their rows, from the first tap that is wanted. */
typedef struct {
    const int8_t *row[WEIGHTED_ROWS];
    int16_t error[WEIGHTED_ROWS];
    uint32_t count;
} weighted_rows_t;

/* acc[j] += the sum over the rows of error times row[j]. Fewer rows than four are made up with errors of 0. Empties `rows`. */
void weighted_runs_add(const runs_t *runs, weighted_rows_t *rows);

/* Take one more row; adds them when there are four. */
static inline void weighted_runs_take(const runs_t *runs, weighted_rows_t *rows, const int8_t *row, int32_t error) {
    rows->row[rows->count] = row;
    rows->error[rows->count] = (int16_t)error;
    if (++rows->count == WEIGHTED_ROWS) {
        weighted_runs_add(runs, rows);
    }
}

#endif
