#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <string.h>

#include "kernels/fully_connected.h"
#include "kernels/terms_s8.h"

enum { CHUNK = 112 }; /* outputs at a time, 8 bytes of stack each */

void fully_connected_s8_input_error(const int8_t *error, const int8_t *weights, uint32_t inputs, uint32_t outputs,
                                    int32_t *acc) {
    term_t terms[CHUNK];
    memset(acc, 0, inputs * sizeof acc[0]);
    for (uint32_t first = 0; first < outputs; first += CHUNK) {
        const uint32_t n = outputs - first < CHUNK ? outputs - first : CHUNK;
        const term_t *end = terms_of_bytes(terms, error + first, n, 1, first * inputs, inputs);
        terms_add_sums(terms, (uint32_t)(end - terms), weights, 1, inputs, acc);
    }
}

#endif
