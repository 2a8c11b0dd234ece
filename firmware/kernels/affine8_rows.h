/* Sums of products of two differences from zero points, along rows. Private to the portable kernels of the format
   affine8. */
#pragma once

#include <stdint.h>

/* The sum of x[i] * (w[i] - zero). */
static inline int32_t affine8_dot(const int8_t *x, const int8_t *w, int32_t zero, uint32_t n) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * (w[i] - zero);
    }
    return sum;
}

/* sums[i] += factor * (values[i] - zero), modulo 2^32. */
static inline void affine8_add_row(const int8_t *values, int32_t zero, int32_t factor, uint32_t n, int32_t *sums) {
    for (uint32_t i = 0; i < n; i++) {
        sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(factor * (values[i] - zero)));
    }
}
