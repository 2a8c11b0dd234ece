/* Sixteen sums of products in the registers of the FPU, of four rows with four columns: docs/arithmetic-float32.md,
   section 12. Inline, so that the sums stay there from call to call. */
#pragma once

#include "kernels/core.h"
#include "kernels/sums_f32.h"

enum { BLOCK = 4, BLOCK_SUMS = BLOCK * BLOCK, BLOCK_ZEROS = 32 };

/* What stands for the values outside the image, so many at a time. */
extern const float block_zeros[BLOCK_ZEROS];

typedef struct {
    float sum[BLOCK_SUMS]; /* of row i and column j: i + 4 j */
    const float *row[BLOCK], *column[BLOCK];
} block_t;

/* Add the products of these elements of the rows with those of the columns, which move on by so many elements. */
INLINED void block_multiply(block_t *block, const float *a, uint32_t column_step) {
    for (uint32_t j = 0; j < BLOCK; j++) {
        const float b = *block->column[j];
        block->column[j] += column_step;
        for (uint32_t i = 0; i < BLOCK; i++) {
            block->sum[BLOCK * j + i] = add_product_f32(block->sum[BLOCK * j + i], a[i], b);
        }
    }
}

/* Add the next `n` products to every sum. From product to product, rows and columns move on by so many elements. */
INLINED void block_add(block_t *block, uint32_t n, uint32_t row_step, uint32_t column_step) {
    for (; n > 0; n--) {
        float a[BLOCK];
        for (uint32_t i = 0; i < BLOCK; i++) {
            a[i] = *block->row[i];
            block->row[i] += row_step;
        }
        block_multiply(block, a, column_step);
    }
}

/* The same of the elements of a list, which are list[0] * row_step from the beginning of the rows, and so on. */
INLINED void block_add_listed(block_t *block, const uint16_t *list, uint32_t n, uint32_t row_step,
                              uint32_t column_step) {
    for (const uint16_t *end = list + n; list != end; list++) {
        const uint32_t at = *list * row_step;
        float a[BLOCK];
        for (uint32_t i = 0; i < BLOCK; i++) {
            a[i] = block->row[i][at];
        }
        block_multiply(block, a, column_step);
    }
}
