/* Writes network files in affine8, also with layers of float32 and tflite8, for the tests: docs/arithmetic-affine8.md,
   section 8. What a layer stands for is computed here again, from the text. */
#pragma once

#include "graph_made.h"

/* A layer as the tests describe it. Its weights and biases are those of the text's networks. */
typedef struct {
    enum op op;
    enum format format;
    uint8_t reads[2];
    uint8_t kernel, stride, padding;
    uint16_t out_c; /* of conv2d, pointwise and fully_connected */
    float low, high, act_min, act_max;
} affine8_spec_t;

#define NO_LIMIT 0x1p40f

/* A graph; `rounding` is a set of bits: 1 if its layers of tflite8 round `single`, 2 if those of affine8 round
   down. */
typedef struct {
    uint16_t h, w, c;
    float scale;
    int8_t zero;
    uint8_t rounding, layers;
    const affine8_spec_t *layer;
    bool without_biases; /* they are 0 */
} affine8_graph_t;

/* Write its bytes. */
void affine8_finish(graph_made_t *made, const affine8_graph_t *graph);

/* The networks A, B and C of section 11, A and B also in float32. */
void affine8_network(graph_made_t *made, char name, bool in_float32, uint8_t rounding);
