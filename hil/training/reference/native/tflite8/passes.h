/* Passes through a network. */
#pragma once

#include "kernels.h"

/* A network that is ready to run. */
typedef struct {
    const Network *network;
    Prepared *prepared;  /* [layers] */
    Own *own;            /* [layers], as they rest */
    int32_t *last_use;   /* of each value, the layer */
    int32_t *slot;       /* of each value */
    int16_t *slots[64];  /* where the values of passes lie, reused when nothing reads them any more */
    int16_t *values[65]; /* of a clean pass */
    int16_t *padded;
    int32_t *totals;
} Runner;

/* A layer that passes differ in: the bits of each query, `words` after those of the one before. */
typedef struct {
    int32_t layer, by_nodes, trains_weights, trains_bias;
    ptrdiff_t words, draws;
    uint32_t *bits;
    Own own;
    int16_t *weights; /* room for those of one pass, in the order of the file */
    int32_t *bias;
} Moved;

/* Take what all passes need; `network` and its arrays stay. `memory` fails where there is none. */
void make_runner(Memory *memory, const Network *network, Runner *runner);

/* Take room for values of a clean pass and run it up to a value. */
void take_values(Memory *memory, Runner *runner);
void run_clean(Runner *runner, const uint8_t *image, int32_t value);

/* Return how many passes from a layer on are run at once. */
int32_t passes_at_once(const Runner *runner, int32_t layer);

/* Run passes with the queries `first`, ... from the first moved layer on; write their losses, `step` numbers apart. */
void run_moved(const Runner *runner, int32_t count, const Moved *moved, int sign, int32_t first, int32_t passes,
               int64_t label, float *losses, ptrdiff_t step);
