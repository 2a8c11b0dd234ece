/* Rows of weights times one vector, two rows together: the innermost loop of fully_connected_s8_dsp.c. */
#ifndef PRODUCTS_ROWS_DSP_H
#define PRODUCTS_ROWS_DSP_H

#include <stdint.h>

enum { PRODUCTS_ROWS_GROUP = 8 }; /* inputs */

/* The first eight fields are as the assembly keeps them. */
typedef struct {
    const uint32_t *lanes; /* the inputs: of every four those at 0 and 2, then those at 1 and 3, in lanes of 16 bits */
    uint32_t step;         /* bytes from behind the groups of a row to those of the row after the next */
    int32_t *acc_end;
    uint32_t entry;  /* of the assembly: where the groups begin */
    uint32_t turns;  /* of the assembly: groups, in fours, rounded up */
    uint32_t groups; /* of the inputs, one at least */
    const int8_t *row[2];
    int32_t *acc; /* of both rows; pairs of rows up to `acc_end`, one at least */
} products_rows_t;

/* acc += weights times inputs. Weights are read word by word at any address, or if `aligned` two words at addresses that are
   multiples of 4. */
void products_rows(const products_rows_t *products);
void products_rows_aligned(const products_rows_t *products);

#endif
