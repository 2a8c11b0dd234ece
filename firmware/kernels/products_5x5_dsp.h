/* One input channel under a window of 5 x 5, four positions together: the innermost loop of conv_band_sums_s8_dsp.c for the first
   layer of many networks. */
#ifndef PRODUCTS_5X5_DSP_H
#define PRODUCTS_5X5_DSP_H

#include <stdint.h>

enum { PRODUCTS_5X5_WORDS = 5 * 6 }; /* of weights */

typedef struct {
    int32_t *acc;
    uint32_t step, three_steps; /* bytes from the sum of a position to that of the next, and three times that */
    int32_t *acc_end;           /* four steps away or a multiple of it */
    const int16_t *in;          /* at an address that is a multiple of 4 */
    const uint32_t *weights;
    uint32_t pitch; /* bytes from row to row, a multiple of 4 */
} products_5x5_t;

/* The weights of a channel as products_5x5 wants them: per row those for even positions, then those for odd ones, one input
   further on, so that both take their inputs from the same words. */
void products_5x5_weights(const int8_t *weights, uint32_t words[PRODUCTS_5X5_WORDS]);

/* The sums of one channel along a row of positions. Eight inputs of each row are read for every four positions. */
void products_5x5(const products_5x5_t *products);

#endif
