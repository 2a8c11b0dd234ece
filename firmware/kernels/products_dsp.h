/* Innermost loops of the forward passes on Armv7E-M, in assembly: sums of products of int8 weights and widened inputs.
   Private to the DSP forms of conv_band_sums_s8.c and fully_connected_s8.c. */
#pragma once

#include <stdint.h>

/* conv2d: two output positions by two output channels, along a row of positions. */

/* A window is `rows` runs of contiguous int16 inputs. Of each run the weights of both channels come first for two taps
   (`half`, if the words of a run are odd), then for `groups` of four taps: a word or two of one channel, then as many
   of the other. Runs of an odd length end with a weight of 0. The first twelve fields are as the
   assembly keeps them. */
typedef struct {
    int32_t gap;                 /* bytes from after the words of a run to the next run */
    const uint32_t *weights_end; /* after the last row */
    uint32_t entry, group_entry; /* of the assembly: where a run and its groups begin */
    uint32_t turns;              /* of the assembly: groups, in fours, rounded up */
    int32_t *acc;
    uint32_t to_channel, to_position; /* bytes to the sums of the second channel and of the second position */
    int32_t rewind;    /* bytes from after the last gap of a pair of positions to the window of the next pair */
    uint32_t acc_step; /* bytes from pair to pair */
    int32_t *acc_end;
    const uint32_t *weights;
    uint32_t groups, half;
    const int16_t *in[2]; /* the windows of both positions */
} products_2x2_t;

/* The sums of all pairs of positions, one at least. Inputs are read word by word at any address, or if `aligned` two
   words at addresses that are multiples of 4. */
void products_2x2(const products_2x2_t *products);
void products_2x2_aligned(const products_2x2_t *products);

/* conv2d: one input channel with a 5 x 5 kernel, four positions at once. The first layer of many networks has this
   shape. */

enum { PRODUCTS_5X5_WORDS = 5 * 6 }; /* of weights */

typedef struct {
    int32_t *acc;
    uint32_t step, three_steps; /* bytes from the sum of a position to that of the next, and three times that */
    int32_t *acc_end;           /* four steps away or a multiple of it */
    const int16_t *in;          /* at an address that is a multiple of 4 */
    const uint32_t *weights;
    uint32_t pitch; /* bytes from row to row, a multiple of 4 */
} products_5x5_t;

/* The weights of a channel less their zero point as products_5x5 reads them: per row those for even positions, then
   those for odd ones, one input further on, so that both take their inputs from the same words. */
void products_5x5_weights(const int8_t *weights, int8_t zero, uint32_t words[PRODUCTS_5X5_WORDS]);

/* The sums of one channel along a row of positions. Eight inputs of each row are read for every four positions. */
void products_5x5(const products_5x5_t *products);

/* fully_connected: two rows of weights at once times one vector. */

enum { PRODUCTS_ROWS_GROUP = 8 }; /* inputs */

/* The first eight fields are as the assembly keeps them. */
typedef struct {
    const uint32_t *lanes; /* the inputs: of every four those at 0 and 2, then those at 1 and 3, in lanes of 16 bits */
    uint32_t step;         /* bytes from after the groups of a row to those of the row after the next */
    int32_t *acc_end;
    uint32_t entry;  /* of the assembly: where the groups begin */
    uint32_t turns;  /* of the assembly: groups, in fours, rounded up */
    uint32_t groups; /* of the inputs, one at least */
    const int8_t *row[2];
    int32_t *acc; /* of both rows; pairs of rows up to `acc_end`, one at least */
} products_rows_t;

/* acc += weights times inputs. Weights are read word by word at any address, or if `aligned` two words at addresses
   that are multiples of 4. */
void products_rows(const products_rows_t *products);
void products_rows_aligned(const products_rows_t *products);
