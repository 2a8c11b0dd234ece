/* The channels of an error in binary32, [position][channel], by their L1 norm: docs/arithmetic-fqt.md, section 4. */
#pragma once

#include <stdint.h>

/* norms[o] = the sum of |error| over the positions, row-major. */
void error_norms_f32(const float *error, uint32_t positions, uint32_t channels, float *norms);

/* Errors of channels that are not among kept[0..count - 1], in ascending order, become +0. */
void keep_channels_f32(float *error, uint32_t positions, uint32_t channels, const uint16_t *kept, uint32_t count);
