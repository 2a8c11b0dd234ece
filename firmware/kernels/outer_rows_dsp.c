#include "kernels/dsp.h"

#if KERNELS_DSP

#include "kernels/backward_dsp.h"

/* Add the rows that have been gathered; those that are missing add 0 to the first. */
static void add_rows(outer_rows_t *rows) {
    for (uint32_t i = rows->count; i < OUTER_ROWS; i++) {
        rows->error[i] = 0;
        rows->row[i] = rows->row[0];
    }
    const uint32_t fours = rows->inputs / 4 * 4;
    outer_products_t products = {.in = rows->in,
                                 .end = rows->in + fours,
                                 .negative_zero = low_lanes((uint32_t)-rows->zero, (uint32_t)-rows->zero)};
    for (uint32_t i = 0; i < OUTER_ROWS; i++) {
        products.row[i] = rows->row[i];
        for (uint32_t j = fours; j < rows->inputs; j++) {
            const int32_t product = rows->error[i] * (rows->in[j] - rows->zero);
            rows->row[i][j] = (int32_t)((uint32_t)rows->row[i][j] + (uint32_t)product);
        }
    }
    products.errors[0] = low_lanes((uint32_t)rows->error[0], (uint32_t)rows->error[1]);
    products.errors[1] = low_lanes((uint32_t)rows->error[2], (uint32_t)rows->error[3]);
    if (fours > 0 && rows->zero == 0) {
        outer_products(&products);
    } else if (fours > 0) {
        outer_products_from(&products);
    }
    rows->count = 0;
}

void outer_rows_take(outer_rows_t *rows, int32_t *row, int32_t error) {
    rows->error[rows->count] = error;
    rows->row[rows->count] = row;
    if (++rows->count == OUTER_ROWS) {
        add_rows(rows);
    }
}

void outer_rows_finish(outer_rows_t *rows) {
    if (rows->count > 0) {
        add_rows(rows);
    }
}

#endif
