/* The error of a value that several layers read: docs/arithmetic-backward.md, section 3. */
#ifndef MERGE_ERRORS_S8_H
#define MERGE_ERRORS_S8_H

#include <stdint.h>

/* What a further reader adds, in the factor of the value: its errors * m * 2^exponent. */
typedef struct {
    const int8_t *error;
    int32_t m;        /* 2^15..2^16 - 1 */
    int32_t exponent; /* x2 + k there */
} merged_t;

/* Add them to the `n` errors of exponent `x`, in place. Returns the exponent of the sum. */
int32_t merge_errors_s8(int8_t *error, uint32_t n, int32_t x, const merged_t *other);

#endif
