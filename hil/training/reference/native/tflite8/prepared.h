/* Layers as the kernels read them.
 *
 * Output channels go in blocks of SHORTS, of two vectors; up to LANES that are left are a half block of one vector. The
 * lanes of a block are in the order of `paired`, so that packing two vectors of sums puts the channels in their order.
 */
#pragma once

#include "memory.h"
#include "rescale.h"

typedef struct {
    const Layer *layer;
    int form;         /* of `rescale` */
    int32_t vectors;  /* of LANES output channels */
    Factors *factors; /* [vectors]; of an add: [3], of the inputs and the output */
    int32_t runs;     /* of taps that lie next to each other, `pairs` of them each; depthwise: 1 of all */
    int32_t pairs;
    int padded;             /* whether windows are not inside the input */
    int32_t span_y, span_x; /* that windows cover */
    ptrdiff_t *taps;        /* depthwise: where the taps lie, an even number of them */
} Prepared;

/* Weights of a layer in the order in which its kernel reads them, and biases by lane. */
typedef struct {
    int16_t *weights;
    int32_t *bias;
} Own;

void prepare(Memory *memory, const Layer *layer, Prepared *prepared);

/* Return memory for weights and biases, all 0. */
Own room_for(Memory *memory, const Prepared *prepared);

/* Put weights and biases, in the order of the network file, where the kernel reads them. SLACK numbers after the
 * weights may be read. */
void arrange(const Prepared *prepared, const int16_t *weights, const int32_t *bias, Own own);

/* Widen int8 numbers. */
void widen(const int8_t *from, ptrdiff_t count, int16_t *to);

/* Return how many vectors the block has that begins with a vector. */
static inline int vectors_of(const Prepared *prepared, int32_t vector) {
    return prepared->vectors - vector >= 2 ? 2 : 1;
}
