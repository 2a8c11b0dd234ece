/* Four errors of one position, each times its channel's weights, which have been widened before: the innermost loop of the input error
   of conv2d for kernels of few taps. */
#ifndef FOUR_CHANNELS_DSP_H
#define FOUR_CHANNELS_DSP_H

#include <stdint.h>

#include "kernels/weighted_runs_dsp.h"

/* The weights of one tap in lanes of 16 bits: of the first and the third channel, of the second and the fourth. */
typedef struct {
    uint32_t even, odd;
} four_weights_t;

/* The weights of four channels, each of `taps` taps. */
void four_channels_widen(const int8_t *weights, uint32_t taps, four_weights_t *wide);

/* acc[j] += the sum over the channels of error times weight; `weights` is at the first tap that is wanted, `errors` are four bytes. */
void four_channels_add(const runs_t *runs, const four_weights_t *weights, uint32_t errors);

#endif
