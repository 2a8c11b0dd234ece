/* Writes network files (docs/network.md) for the tests. */
#pragma once

#include "graph/file.h"

/* A file that grows layer by layer; `bytes` are complete after made_finish(). */
typedef struct {
    graph_header_t header;
    graph_layer_t layer[GRAPH_MAX_LAYERS];
    graph_output_t output[GRAPH_MAX_LAYERS];   /* of a tflite8 layer */
    graph_factors_t factors[GRAPH_MAX_LAYERS]; /* of an add */
    graph_mean_t mean[GRAPH_MAX_LAYERS];       /* of a mean */
    uint8_t most_rounding;                     /* of a tflite8 layer, which is drawn */
    uint8_t *bytes;
    uint32_t size;
} graph_made_t;

/* Begin a file in tflite8, with any zero point and roundings. */
void made_begin(graph_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes);

/* Append a layer that reads a value: windows of any kind (out_c counts for conv2d and pointwise), the same on both
   axes but for the kernel, or any; fully_connected; the sum of two values; a mean; or a table, of which bytes are
   drawn. */
void made_window(graph_made_t *made, enum op op, uint8_t value, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w,
                 uint8_t stride, uint8_t padding);
void made_axes(graph_made_t *made, enum op op, uint8_t value, uint16_t out_c, const layer_shape_t *window);
void made_fully_connected(graph_made_t *made, uint8_t value, uint16_t outputs);
void made_add(graph_made_t *made, uint8_t a, uint8_t b);
void made_mean(graph_made_t *made, uint8_t value);
void made_table(graph_made_t *made, uint8_t value);

/* Append a record of a layer that reads a value, with the shape of its input; the other fields are 0. */
graph_layer_t *made_append(graph_made_t *made, enum op op, enum format format, uint8_t value);

/* Write the bytes, with random parameters, and random weights in -bound..bound. */
void made_finish(graph_made_t *made, int32_t bound);

/* Write the digest again, after a change of bytes. */
void made_seal(graph_made_t *made);

void made_free(graph_made_t *made);

/* A layer's record in the bytes. */
graph_layer_t *made_record(const graph_made_t *made, uint32_t layer);

/* Open the file and check that this is the answer. */
void made_expect(const graph_made_t *made, uint8_t code, uint32_t a, uint32_t b, const char *what);

/* conv, dw, pw; pw, dw, pw, add; pools, and fc: every operation, chains of three and of two, small. */
void made_small(graph_made_t *made);

/* A table, a conv of different axes, a mean, and fc. */
void made_with_mean(graph_made_t *made);

/* Any small graph. */
void made_random(graph_made_t *made);
