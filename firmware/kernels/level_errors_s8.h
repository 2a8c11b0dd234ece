/* Errors brought to the scale of one channel: docs/arithmetic-backward.md, section 3. */
#ifndef LEVEL_ERRORS_S8_H
#define LEVEL_ERRORS_S8_H

#include <stdint.h>

/* R: the first of the channels whose multiplier * 2^shift, rounded to binary32, is the largest. */
uint32_t largest_channel(const int32_t *multiplier, const int8_t *shift, uint32_t channels);

/* multiplier[o] * 2^(shift[o] - 31), the multiplier rounded to binary32. */
float channel_factor(const int32_t *multiplier, const int8_t *shift, uint32_t o);

/* out[p][o] = e'_o of error[p][o]: times the factor of its channel against that of channel `largest`. In place, or apart. */
void level_errors_s8(const int8_t *error, uint32_t positions, uint32_t channels, const int32_t *multiplier,
                     const int8_t *shift, uint32_t largest, int8_t *out);

#endif
