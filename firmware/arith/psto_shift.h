/* PstoShift: docs/arithmetic.md, section 2. */
#ifndef PSTO_SHIFT_H
#define PSTO_SHIFT_H

#include <stdint.h>

/* Pseudo-stochastic rounding of x / 2^s to -127..127, s in 0..31: the low bits of x decide by themselves. */
int32_t psto_shift(int32_t x, int32_t s);

#endif
