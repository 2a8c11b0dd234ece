/* Sums of rows of weights, each times its error: what the input errors of conv2d and fully_connected are made of.
   Private to their portable kernels. */
#pragma once

#include <stdint.h>

enum { WEIGHTED_ROWS = 4 }; /* rows taken together */

/* Errors that are not 0, at most WEIGHTED_ROWS of them, and the rows of weights that belong to them. */
typedef struct {
    int32_t error[WEIGHTED_ROWS];
    const int8_t *row[WEIGHTED_ROWS];
} weighted_rows_t;

/* Take the next errors that are not 0 from error[*next..end-1]; row o of the weights is at `weights` + o * `stride`.
   Moves *next on. Rows that are missing at the end get error 0. Returns how many there are. */
uint32_t weighted_rows_take(weighted_rows_t *rows, const int8_t *error, uint32_t *next, uint32_t end,
                            const int8_t *weights, uint32_t stride);

/* acc[j] += the sum over the rows of error times row[from + j], for j in 0..n-1. */
void weighted_rows_add(const weighted_rows_t *rows, uint32_t from, uint32_t n, int32_t *acc);
