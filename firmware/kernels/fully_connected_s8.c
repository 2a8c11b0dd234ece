/* fully_connected, forward: docs/arithmetic.md, section 4. */
#include "kernels/fully_connected.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/dsp.h"
#include "kernels/products_dsp.h"
#include "kernels/shapes.h"
#include "kernels/terms_s8.h"

#if KERNELS_DSP

enum { CHUNK = 256 }; /* inputs held in lanes of 16 bits, on the stack */

typedef struct {
    const int8_t *in, *weights;
    uint32_t inputs, outputs;
    int32_t *acc;
} layer_t;

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
        add_chunk(&layer, first, least_u32(CHUNK, grouped - first));
    }
    if (grouped < inputs) {
        add_rest(&layer, grouped);
    }
}

#elif KERNELS_THUMB1

enum { CHUNK = 112 }; /* inputs at a time, 8 bytes of stack each */

void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc) {
    term_t terms[CHUNK];
    memset(acc, 0, outputs * sizeof acc[0]);
    for (uint32_t first = 0; first < inputs; first += CHUNK) {
        const uint32_t n = inputs - first < CHUNK ? inputs - first : CHUNK;
        const term_t *end = terms_of_bytes(terms, in + first, n, 1, first, 1);
        terms_add_sums(terms, (uint32_t)(end - terms), weights, inputs, outputs, acc);
    }
}

#else

enum { ROWS = 4 }; /* outputs that share a loaded input */

/* Four outputs. `chunk` divides the inputs; it is a constant to the compiler, which unrolls that many. */
static inline void four_rows(const int8_t *in, const int8_t *const w[ROWS], uint32_t inputs, uint32_t chunk,
                             int32_t sum[ROWS]) {
    const int8_t *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (const int8_t *end = in + inputs; in != end; in += chunk, w0 += chunk, w1 += chunk, w2 += chunk, w3 += chunk) {
        for (uint32_t i = 0; i < chunk; i++) {
            s0 += in[i] * w0[i];
            s1 += in[i] * w1[i];
            s2 += in[i] * w2[i];
            s3 += in[i] * w3[i];
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

void fully_connected_s8(const int8_t *in, const int8_t *weights, uint32_t inputs, uint32_t outputs, int32_t *acc) {
    for (uint32_t o = 0; o < outputs; o += ROWS) {
        const int8_t *w[ROWS];
        for (uint32_t i = 0; i < ROWS; i++) {
            w[i] = weights + least_u32(o + i, outputs - 1) * inputs; /* beyond the last output, it is computed again */
        }
        int32_t sum[ROWS];
        if (inputs % 16 == 0) {
            four_rows(in, w, inputs, 16, sum);
        } else if (inputs % 4 == 0) {
            four_rows(in, w, inputs, 4, sum);
        } else {
            four_rows(in, w, inputs, 1, sum);
        }
        for (uint32_t i = 0; i < least_u32(ROWS, outputs - o); i++) {
            acc[o + i] = sum[i];
        }
    }
}

#endif
