/* Layers. Inputs and outputs are those of `passes` passes, one after the other. */
#pragma once

#include "prepared.h"

/* A value in several passes: `pass` numbers from one to the next, 0 if it is the same in all of them. */
typedef struct {
    const int16_t *numbers;
    ptrdiff_t pass;
} Value;

/* conv2d, pointwise, fully_connected, depthwise. `padded` has room for `padded_size` numbers and SLACK. */
void run_weighted(const Prepared *prepared, Own own, int32_t passes, Value x, int16_t *padded, int16_t *out);

void run_pool(const Prepared *prepared, int32_t passes, Value x, int32_t *totals, int16_t *out);

void run_add(const Prepared *prepared, int32_t passes, Value one, Value other, int16_t *out);

/* Return the numbers of an input with its padding. */
static inline ptrdiff_t padded_size(const Prepared *prepared) {
    return (ptrdiff_t)prepared->span_y * prepared->span_x * prepared->layer->channels;
}

/* Return what the windows read: the input of one pass, or a copy of it with its padding. */
const int16_t *windows_of(const Prepared *prepared, const int16_t *x, int16_t *padded);
