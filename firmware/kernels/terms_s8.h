/* Sums of products on Armv6-M. One factor of every product comes from a list of terms, made once and used for many rows
   of bytes: the list leaves out what is 0, LDM reads place and factor of several terms in one instruction, and no place
   has to be counted. Private to the kernels for Armv6-M. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/affine8.h"

typedef struct {
    uint32_t at;    /* the byte of a row that the factor belongs to */
    int32_t factor; /* int8; of a pair: that of the first plus 2^16 times that of the second */
} term_t;

/* In assembly: eight times the same, for loops that are entered in the middle. */
#define EIGHT_TIMES(x) x x x x x x x x

/* A list of terms is never empty: [0] is {0, 0} if it would be. */

/* sums[r] += the sum of factor times rows[r * distance + at] over the `n` terms, for r in 0..count-1. */
void terms_add_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                    int32_t *sums);

/* Terms of pairs: the sum of row r for the first of the pair to first[r], that for the second to first[r + to_second].
   `n` is even. One side is all of int8, the other -127..127, or in the forms below -127..128. */
void terms_pair_sums(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                     int32_t *first, uint32_t to_second);

/* The same where both sums of row r begin with starts[r], modulo 2^32. The second form takes any terms; the first none
   where both terms of a pair have 128 for the second: two products of -128 * 128 and a borrow are below -2^15. */
void terms_pair_sums_from(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                          int32_t *first, uint32_t to_second, const int32_t *starts);
void terms_pair_sums_raised(const term_t *terms, uint32_t n, const int8_t *rows, uint32_t distance, uint32_t count,
                            int32_t *first, uint32_t to_second, const int32_t *starts);

/* sums[at / 4] += factor * by for every term, modulo 2^32. */
void terms_add_products(const term_t *terms, uint32_t n, int32_t by, int32_t *sums);

/* sums[at / 4] += factor * by >> shift for every term, or -= where `minus`; factor and by are not negative, so that
   what is shifted out is cut off towards zero. */
void terms_add_magnitudes(const term_t *terms, uint32_t n, int32_t by, uint32_t shift, int32_t *sums, bool minus);

/* Append as terms those of `n` bytes, `step` apart, that are not 0; their places lie `at_step` apart, from `at` on.
   Returns the end of the list. */
term_t *terms_of_bytes(term_t *end, const int8_t *bytes, uint32_t n, uint32_t step, uint32_t at, uint32_t at_step);

/* The same with all bytes less `zero`. */
term_t *terms_of_differences(term_t *end, const int8_t *bytes, uint32_t n, uint32_t step, int32_t zero, uint32_t at,
                             uint32_t at_step);

/* Append as terms those of the errors first..first + `n` - 1 of the position at `error` that do not stand for 0; the
   row of channel o has the place o * `row`. `kept` NULL: all channels are. */
term_t *terms_of_errors(term_t *end, const affine8_errors_t *errors, const int8_t *error, uint32_t first, uint32_t n,
                        uint32_t row);

/* `rows` runs of `n` bytes, `step` bytes from one to the next in memory, `at_step` in the rows that they are to be
   multiplied with, where the first has the place `at`. */
typedef struct {
    const int8_t *bytes;
    uint32_t n, rows, step;
    uint32_t at, at_step;
} patch_t;

/* Append the bytes of a patch that are not 0 as terms, times 2^shift; returns the end of the list. */
term_t *terms_of_patch(term_t *end, const patch_t *patch, uint32_t shift);

/* The same of two patches as terms of pairs, the second `to_second` bytes after the first. */
term_t *terms_of_pair(term_t *end, const patch_t *patch, uint32_t to_second);

/* The same with one added to every byte, for a list that begins here. Terms of 0 are not left out. Makes *low other
   than 0 if terms_pair_sums_from() does not take the list. */
term_t *terms_of_pair_and_one(term_t *end, const patch_t *patch, uint32_t to_second, uint32_t *low);

/* Append terms of 0 until there is an even number of them, at least two; returns how many there are. */
static inline uint32_t terms_close(const term_t *terms, term_t *end) {
    while (end == terms || (end - terms) % 2 != 0) {
        *end++ = (term_t){0, 0};
    }
    return (uint32_t)(end - terms);
}
