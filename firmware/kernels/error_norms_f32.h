/* The channels of an error in binary32, [position][channel], by their L1 norm: docs/arithmetic-fqt.md, section 4. */
#pragma once

#include <stdint.h>

/* norms[o] = the sum of |error| over the positions, row-major. */
void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms);
