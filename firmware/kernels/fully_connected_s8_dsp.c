#include "kernels/dsp.h"

#if KERNELS_DSP

#include <stdbool.h>

#include "kernels/fully_connected.h"
#include "kernels/products_dsp.h"

enum { CHUNK = 256 }; /* inputs held in lanes of 16 bits, on the stack */

typedef struct {
    const int8_t *in, *weights;
    uint32_t inputs, outputs;
    int32_t *acc;
} layer_t;

static inline uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Add the products of `n` inputs, from `first` on, to all sums; n is a multiple of the group. */
static void add_chunk(const layer_t *layer, uint32_t first, uint32_t n) {
    uint32_t lanes[CHUNK / 2];
    for (uint32_t i = 0; i < n; i += 4) {
        const uint32_t word = load_word(layer->in + first + i);
        lanes[i / 2] = even_lanes(word);
        lanes[i / 2 + 1] = odd_lanes(word);
    }
    const int8_t *row = layer->weights + first;
    products_rows_t products = {
        .lanes = lanes,
        .step = 2 * layer->inputs - n,
        .acc_end = layer->acc + layer->outputs / 2 * 2,
        .turns = (n / PRODUCTS_ROWS_GROUP + 3) / 4,
        .groups = n / PRODUCTS_ROWS_GROUP,
        .row = {row, row + layer->inputs},
        .acc = layer->acc,
    };
    const bool aligned = ((uintptr_t)row | layer->inputs) % 4 == 0;
    void (*const multiply)(const products_rows_t *) = aligned ? products_rows_aligned : products_rows;
    if (layer->outputs > 1) {
        multiply(&products);
    }
    if (layer->outputs % 2 != 0) { /* an odd last row goes with itself */
        int32_t sum[2] = {0};
        products.row[0] = products.row[1] = row + (layer->outputs - 1) * layer->inputs;
        products.acc = sum;
        products.acc_end = sum + 2;
        multiply(&products);
        layer->acc[layer->outputs - 1] += sum[0];
    }
}

/* The products of the inputs from `first` on, fewer than a group. */
static void add_rest(const layer_t *layer, uint32_t first) {
    const int8_t *row = layer->weights;
    for (uint32_t o = 0; o < layer->outputs; o++, row += layer->inputs) {
        for (uint32_t j = first; j < layer->inputs; j++) {
            layer->acc[o] += layer->in[j] * row[j];
        }
    }
}

void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc) {
    const layer_t layer = {.in = in, .weights = weights, .inputs = inputs, .outputs = outputs, .acc = acc};
    const uint32_t grouped = inputs / PRODUCTS_ROWS_GROUP * PRODUCTS_ROWS_GROUP;
    memset(acc, 0, outputs * sizeof *acc);
    for (uint32_t first = 0; first < grouped; first += CHUNK) {
        add_chunk(&layer, first, least(CHUNK, grouped - first));
    }
    if (grouped < inputs) {
        add_rest(&layer, grouped);
    }
}

#endif
