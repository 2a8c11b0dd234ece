/* int32 sums to int8 values and a shift: docs/arithmetic.md, sections 4 and 7. */
#ifndef REQUANTIZE_S8_H
#define REQUANTIZE_S8_H

#include <stdint.h>

/* With s = bits(max |acc|) - 7: out = RoundShift(acc, s) if s > 0, else acc. Returns max(s, 0), what the exponent grows by.
   `out` may begin where `acc` does. */
int32_t requantize_s8(const int32_t *acc, uint32_t n, int8_t *out);

#endif
