/* The error of a layer's output by node perturbation: docs/arithmetic-zeroth-order.md, section 5. */
#ifndef NODE_ERRORS_S8_H
#define NODE_ERRORS_S8_H

#include "kernels/query.h"

/* The shift s with which the errors of these queries are brought to 8 bits; the gradient's exponent is s - 16. */
int32_t node_error_shift(const query_t *queries, uint32_t count);

/* errors[i] = e8 of the next `n` outputs, whose clean values are `clean`, with s = `shift`; every query goes on by n draws. Errors are
   laid out like the output, height, width, channel. `errors` may be `clean`. */
void node_errors_s8(const int8_t *clean, uint32_t n, int8_t act_min, int8_t act_max, query_t *queries, uint32_t count,
                    int32_t shift, int8_t *errors);

#endif
