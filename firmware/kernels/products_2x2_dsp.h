/* Two positions by two output channels of conv2d, along a row of positions: the innermost loops of
   conv_band_sums_s8_dsp.c. */
#ifndef PRODUCTS_2X2_DSP_H
#define PRODUCTS_2X2_DSP_H

#include <stdint.h>

/* A window is `rows` runs of contiguous int16 inputs. Of each run the weights of both channels come first for two taps (`half`, if
   the words of a run are odd), then for `groups` of four taps: a word or two of one channel, then as many of the other. Runs of an
   odd length end with a weight of 0. The first twelve fields are as the assembly keeps them. */
typedef struct {
    int32_t gap;                 /* bytes from behind the words of a run to the next run */
    const uint32_t *weights_end; /* behind the last row */
    uint32_t entry, group_entry; /* of the assembly: where a run and its groups begin */
    uint32_t turns;              /* of the assembly: groups, in fours, rounded up */
    int32_t *acc;
    uint32_t to_channel, to_position; /* bytes to the sums of the second channel and of the second position */
    int32_t rewind;    /* bytes from behind the last gap of a pair of positions to the window of the next pair */
    uint32_t acc_step; /* bytes from pair to pair */
    int32_t *acc_end;
    const uint32_t *weights;
    uint32_t groups, half;
    const int16_t *in[2]; /* the windows of both positions */
} products_2x2_t;

/* The sums of all pairs of positions, one at least. Inputs are read word by word at any address, or if `aligned` two words
   at addresses that are multiples of 4. */
void products_2x2(const products_2x2_t *products);
void products_2x2_aligned(const products_2x2_t *products);

#endif
