/* Gradients of a sample, and their sum (docs/arithmetic-zeroth-order.md, section 5). */
#pragma once

#include "kernels.h"

/* Write the gradient of a layer's weights, then of its biases; return what the exponent of the sums is raised by.
 *
 * `sums` are those over the queries of delta * xi of each output, and are overwritten; `magnitude` is the sum of
 * |delta|; x and `out` are clean. `pairs` has room for two numbers for each product of an output, and SLACK. */
int node_gradient(const Prepared *prepared, int32_t *sums, int64_t magnitude, const int16_t *x, const int16_t *out,
                  int16_t *padded, int16_t *pairs, int32_t *gradient);

/* Add the gradient of a sample: of the trained weights, then of the trained biases. */
void add_gradient(Trained *part, const int32_t *gradient, ptrdiff_t count, int32_t exponent);
