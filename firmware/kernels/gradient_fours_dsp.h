/* Weight gradient of conv2d along the positions: every tap takes four products of four neighbours at once. weighted_runs, which goes
   along the taps instead, skips every single error of 0, but widens all inputs again for each error. */
#ifndef GRADIENT_FOURS_DSP_H
#define GRADIENT_FOURS_DSP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/shapes.h"

/* Whether it is the shorter way: the kernel is 3 or 5 wide, and few errors are 0. */
bool gradient_fours_take(const layer_shape_t *shape, const int8_t *error);

/* The padded input, (in_h + 2 padding) x (in_w + 2 padding) bytes for each channel; up to 3 bytes behind it are read. */
void gradient_fours_planes(const int8_t *in, const layer_shape_t *shape, int8_t *planes);

/* Add the products of all positions to the sums of one channel; `error` is at the channel. */
void gradient_fours_add(const int8_t *planes, const int8_t *error, const layer_shape_t *shape, int32_t *sum);

#endif
