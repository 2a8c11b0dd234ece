/* Random parts of layers in affine8, and what becomes of a sum: docs/arithmetic-affine8.md, section 2. */
#pragma once

#include "kernels/affine8.h"

/* A zero point: all of int8, often one of its ends. */
int8_t draw_zero(void);

/* A factor that makes outputs of sums of `taps` products, or any. */
affine8_factor_t draw_factor(uint32_t taps);

/* R, and the limits. */
int8_t output_of(int64_t acc, affine8_factor_t factor, int64_t zero, int64_t least, int64_t most);

/* A list of all channels, of some, of one, of none; returns how many it has. `place` has for each channel its place in
   the list, or -1. */
uint32_t draw_kept(uint32_t channels, uint16_t *kept, int32_t *place);

/* Many of the errors become 0, as the gate and the ranks leave them, or none. */
void draw_zeros(int8_t *error, uint32_t n, int8_t zero);
