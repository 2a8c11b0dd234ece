/* Gradients from loss differences, for weight and node perturbation: docs/arithmetic-zeroth-order.md,
   sections 3 to 5. */
#pragma once

#include <stdint.h>

/* A query: one perturbation and its loss difference. 8 bytes, an element of the buffer `queries` of
   docs/memory-graph.md. */
typedef struct {
    uint32_t signs; /* of its next 32 draws: rademacher_begin() */
    int32_t delta;  /* its loss difference: loss_delta() */
} query_t;

_Static_assert(sizeof(query_t) == 8, "docs/memory-graph.md");

/* Weight perturbation: sums[i] = the sum over `count` (1..127) queries of delta * xi, for each of the next `n` draws.
   Every query advances by n draws: the next call continues with the weights (or the biases) that follow. */
void signed_sums_s32(query_t *queries, uint32_t count, uint32_t n, int32_t *sums);

/* Node perturbation: the shift s that brings the errors of these queries to 8 bits; the gradient's
   exponent is s - 16. */
int32_t node_error_shift(const query_t *queries, uint32_t count);

/* Node perturbation: errors[i] = e8 of the next `n` outputs, with s = `shift`. `clean` has the outputs of the pass
   without perturbation. Every query advances by n draws. Errors have the layout of the output: height, width, channel.
   `errors` may be `clean`. */
void node_errors_s8(const int8_t *clean, uint32_t n, int8_t act_min, int8_t act_max, query_t *queries, uint32_t count,
                    int32_t shift, int8_t *errors);
