#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include "kernels/conv_input_error.h"
#include "kernels/terms_s8.h"

enum { CHUNK = 112 }; /* outputs at a time, 8 bytes of stack each */

void matrix_add_input_error(const affine8_errors_t *errors, const int8_t *weights, uint32_t inputs, int32_t *acc) {
    term_t terms[CHUNK];
    for (uint32_t first = 0; first < errors->count; first += CHUNK) {
        const uint32_t n = errors->count - first < CHUNK ? errors->count - first : CHUNK;
        const term_t *end = terms_of_errors(terms, errors, errors->error, first, n, inputs);
        terms_add_sums(terms, (uint32_t)(end - terms), weights, 1, inputs, acc);
    }
}

#endif
