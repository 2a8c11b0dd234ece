/* Gains of output channels, and the factors of requantization with them: docs/arithmetic-quzo.md, sections 7 to 9. */
#pragma once

#include "kernels/directions.h"

enum {
    GAIN_BITS = 24, /* a gain g stands for g / 2^24 */
    GAIN_ONE = 1 << GAIN_BITS,
    GAIN_LEAST = GAIN_ONE / 4,
    GAIN_MOST = GAIN_ONE * 4,
    GAIN_STEPS = GAIN_ONE / 32, /* z stands for z / 32 */
};

/* Of the channels of a layer: gains; the factors of the file, a multiplier in 2^30..2^31 - 1 and a shift; and those that
   a gain makes of them. No gain is outside of GAIN_LEAST..GAIN_MOST, so a shift changes by 2 at most. */
typedef struct {
    int32_t *gain;
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t *made_multiplier;
    int8_t *made_shift;
    uint32_t n;
} gains_t;

/* What moves the gains of a tensor in a step: its pool, the state with which its z begin, and E. */
typedef struct {
    const int8_t (*pool)[4];
    uint32_t state;
    int32_t scale;
} gain_moves_t;

/* Make the factors of the gains at rest, g; those of g + k * E * z, k 1 or -1. */
void gains_make(const gains_t *gains);
void gains_make_moved(const gains_t *gains, const gain_moves_t *moves, int32_t k);

/* g = g held in W_min..W_max of an E. */
void gains_limit(const gains_t *gains, int32_t scale);

/* g = g - d held in W_min..W_max, with C in -2^41..2^41. */
void gains_update(const gains_t *gains, const gain_moves_t *moves, int64_t factor);
