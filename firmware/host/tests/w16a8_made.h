/* Writes network files in w16a8 (docs/arithmetic-w16a8.md, section 4) for the tests. */
#pragma once

#include "formats/w16a8.h"

/* A layer to append: the fields of its record that count, and its parameters. */
typedef struct {
    enum op op;
    uint8_t reads[2];
    uint8_t kernel_h, kernel_w, stride, padding;
    uint16_t out_h, out_w, out_c;
    float scale; /* of the output */
    int8_t zero, act_min, act_max;
    float weight_scale;
    int32_t multiplier;
    int8_t shift;
    uint16_t largest;
    graph_factors_t factors;
    const int16_t *weights;
    const int32_t *bias;
} w16a8_made_layer_t;

/* A file that grows layer by layer; `bytes`, of `size`, are complete after w16a8_finish(). */
typedef struct {
    graph_header_t header;
    graph_layer_t record[GRAPH_MAX_LAYERS];
    w16a8_made_layer_t layer[GRAPH_MAX_LAYERS];
    uint8_t *bytes;
    uint32_t size;
} w16a8_made_t;

void w16a8_begin(w16a8_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes, int8_t zero);
void w16a8_append(w16a8_made_t *made, const w16a8_made_layer_t *layer);
void w16a8_finish(w16a8_made_t *made);

/* Write the digest again, after a change of bytes. */
void w16a8_seal(w16a8_made_t *made);

/* The network of docs/arithmetic-w16a8.md, section 7. */
void w16a8_made_network(w16a8_made_t *made);

/* The parameters of a layer in the bytes. */
w16a8_parameters_t *w16a8_made_parameters(const w16a8_made_t *made, uint8_t l);
