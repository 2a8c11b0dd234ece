#include "kernels/thumb1.h"

#if KERNELS_THUMB1

#include <string.h>

#include "kernels/fully_connected.h"
#include "kernels/terms_s8.h"

enum { CHUNK = 112 }; /* inputs at a time, 8 bytes of stack each */

void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc) {
    term_t terms[CHUNK];
    memset(acc, 0, outputs * sizeof acc[0]);
    for (uint32_t first = 0; first < inputs; first += CHUNK) {
        const uint32_t n = inputs - first < CHUNK ? inputs - first : CHUNK;
        const term_t *end = terms_of_bytes(terms, in + first, n, 1, first, 1);
        terms_add_sums(terms, (uint32_t)(end - terms), weights, inputs, outputs, acc);
    }
}

#endif
