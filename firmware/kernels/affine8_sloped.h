/* The error of what hard_swish reads, element by element. Private to its kernels. */
#pragma once

#include <stdint.h>

typedef struct {
    const int8_t *in;
    int8_t *error, *out;   /* of the output; of the input, which has its own bytes */
    const int16_t *slopes; /* of the 256 inputs, from -128 on, in -64..192 */
    int8_t zero;           /* of the error */
} affine8_sloped_t;

static inline int32_t affine8_sloped(const affine8_sloped_t *sloped, uint32_t i) {
    return (sloped->error[i] - sloped->zero) * sloped->slopes[sloped->in[i] - INT8_MIN];
}
