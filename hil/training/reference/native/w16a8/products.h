/* Sums of products, the one inner loop of all layers with weights (docs/arithmetic-w16a8.md, section 3).
 *
 * The taps go in pairs. A block of outputs stays in registers; its sums move to 64 bits every 256 products.
 */
#pragma once

#include "w16a8.h"

/* Taps that follow each other: the numbers of the first one. */
typedef struct {
    const int16_t *weights, *x;
} Run;

/* The sums of an output place. The weights of a tap lie `output` numbers from output to output, those of an output next
 * to each other; the lanes of a tap lie `pitch` numbers after those of the tap before. */
typedef struct {
    int32_t runs, taps;
    ptrdiff_t output, pitch;
    const Run *run;
} Products;

/* Write outputs [outputs, lanes], less their zero point. */
void scale_products(const Products *products, int32_t outputs, int64_t lanes, const int32_t *biases, Scaling scaling,
                    int16_t *out);
