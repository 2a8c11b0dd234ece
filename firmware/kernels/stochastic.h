/* Weights that move along directions of directions.h by a number of steps that is rounded at random, so that its mean
   is the exact one: docs/arithmetic-quzo.md, sections 2 to 4. */
#pragma once

#include "kernels/directions.h"

enum {
    STOCHASTIC_BITS = 16,         /* that are rounded away */
    STOCHASTIC_LARGEST = 1 << 24, /* E */
    STOCHASTIC_MOVE = 1 << 30,    /* d */
};

/* The weights of a tensor, in int8 or int16: the other is NULL. `run` in a row have a unit, and then the next one,
   after the last the first again. */
typedef struct {
    int8_t *s8;
    int16_t *s16;
    uint32_t n, run, units;
    int32_t largest;       /* X: none is larger while it is perturbed */
    const int32_t *scales; /* E by unit, at most STOCHASTIC_LARGEST */
} stochastic_weights_t;

/* States of a direction: of z, and of the numbers that round. */
typedef struct {
    uint32_t z, rounding;
} stochastic_streams_t;

/* The streams of a direction in a trained tensor, and the state of the numbers that round the moves. */
stochastic_streams_t stochastic_streams(uint32_t seed, uint32_t step, uint32_t direction, uint32_t tensor);
uint32_t stochastic_update_state(uint32_t seed, uint32_t step, uint32_t tensor);

/* U: no perturbation with E goes further. */
static inline int32_t stochastic_reach(int32_t scale) {
    return (DIRECTION_LARGEST_Z * scale + (1 << STOCHASTIC_BITS) - 1) >> STOCHASTIC_BITS;
}

/* w = w held in -W..W. */
void stochastic_limit(const stochastic_weights_t *weights);

/* w = w + k * u. The pool is that of the step. */
void stochastic_move(const stochastic_weights_t *weights, const int8_t (*pool)[4], stochastic_streams_t streams,
                     int32_t k);

/* Weights that are w - u of the last of `count` directions become w - d, held in -W..W. streams[i] and factors[i], C,
   are those of direction i; the streams are used up. `state` is that of the numbers that round d. */
void stochastic_update(const stochastic_weights_t *weights, const int8_t (*pool)[4], stochastic_streams_t *streams,
                       const int32_t *factors, uint32_t count, uint32_t state);
