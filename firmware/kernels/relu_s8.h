/* relu, in place: docs/arithmetic.md, section 4. */
#ifndef RELU_S8_H
#define RELU_S8_H

#include <stdint.h>

/* values = max(values, 0). */
void relu_s8(int8_t *values, uint32_t n);

#endif
