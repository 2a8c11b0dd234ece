/* Sums of errors, channel by channel. Private to the kernels. */
#pragma once

#include <stdint.h>

enum { ERROR_SUMS = 4 };

/* sums[i] = the sum of error[p * channels + i] over the positions, for ERROR_SUMS channels. */
void error_sums_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t sums[ERROR_SUMS]);
