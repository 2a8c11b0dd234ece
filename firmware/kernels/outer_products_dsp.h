/* One vector times four errors, added to four rows: the innermost loop of fully_connected_s8_weight_gradient_dsp.c. */
#ifndef OUTER_PRODUCTS_DSP_H
#define OUTER_PRODUCTS_DSP_H

#include <stdint.h>

enum { OUTER_ROWS = 4 };

typedef struct {
    const int8_t *in, *end; /* a multiple of four inputs, four at least */
    int32_t *row[OUTER_ROWS];
    uint32_t errors[OUTER_ROWS / 2]; /* of each two rows, in lanes of 16 bits */
} outer_products_t;

/* row[i][j] += error i times in[j]. A row may be there more than once. */
void outer_products(const outer_products_t *products);

#endif
