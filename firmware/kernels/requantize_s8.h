/* Rescaling in the format bfp8: int32 sums to int8 values with a common exponent. docs/arithmetic.md, sections 1, 4 and
   7. */
#pragma once

#include <stdint.h>

/* bits(max |values|) of `n` values: the bits of the largest magnitude, 0 when all values are 0. */
int32_t largest_bits_s32(const int32_t *values, uint32_t n);

/* With s = bits(max |acc|) - 7: out = RoundShift(acc, s) if s > 0, else acc. Returns max(s, 0), by which the exponent
   grows. `out` may begin at the same address as `acc`. */
int32_t requantize_s8(const int32_t *acc, uint32_t n, int8_t *out);
