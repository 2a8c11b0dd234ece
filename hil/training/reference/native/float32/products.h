/* Sums of products, the one inner loop of convolutions, their input's errors and gradients of fully connected layers.
 *
 * A block of outputs times two vectors stays in registers while the products are added in order, tap after tap and run
 * after run. Every product is rounded, then added.
 */
#pragma once

#include "float32.h"

/* Taps that follow each other: the numbers of the first one. */
typedef struct {
    const float *weights, *x;
} Run;

/* The sums of an output place. The weight of an output and a tap lies `output` numbers from output to output and `tap`
 * numbers from tap to tap; one of both is 1. The lanes of a tap lie `pitch` numbers after those of the tap before. */
typedef struct {
    int32_t runs, taps;
    ptrdiff_t output, tap, pitch;
    const Run *run;
} Products;

/* Write sums [outputs, lanes], each plus its output's bias within limits; rows are `pitch` numbers apart. */
void sum_products(const Products *products, int64_t outputs, int64_t lanes, const float *biases, Limits limits,
                  float *out, ptrdiff_t pitch);

/* Add to sums [outputs, lanes] in order. */
void add_products(const Products *products, int64_t outputs, int64_t lanes, float *sums, ptrdiff_t pitch);
