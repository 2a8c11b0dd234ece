/* The bits of the largest magnitude. */
#ifndef LARGEST_BITS_S32_H
#define LARGEST_BITS_S32_H

#include <stdint.h>

/* bits(max |values|) of docs/arithmetic.md, section 1; 0 when all are 0. */
int32_t largest_bits_s32(const int32_t *values, uint32_t n);

#endif
