/* Writes network files of the second family (docs/network-tflite.md) for the tests. */
#ifndef GRAPH_MADE_H
#define GRAPH_MADE_H

#include "graph/file.h"

/* A file that grows layer by layer; `bytes` are complete after made_finish(). */
typedef struct {
    graph_header_t header;
    graph_layer_t layer[GRAPH_MAX_LAYERS];
    uint8_t *bytes;
    uint32_t size;
} graph_made_t;

void made_begin(graph_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes);

/* Append a layer that reads a value: windows of any kind (out_c counts for conv2d and pointwise), fully_connected, or the sum of two values. */
void made_window(graph_made_t *made, enum graph_op op, uint8_t value, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w, uint8_t stride,
                 uint8_t padding);
void made_fully_connected(graph_made_t *made, uint8_t value, uint16_t outputs);
void made_add(graph_made_t *made, uint8_t a, uint8_t b);

/* Write the bytes, with random weights and parameters. */
void made_finish(graph_made_t *made);

/* Write the digest again, after a change of bytes. */
void made_seal(graph_made_t *made);

void made_free(graph_made_t *made);

/* A layer's record in the bytes. */
graph_layer_t *made_record(const graph_made_t *made, uint32_t layer);

/* conv, dw, pw; pw, dw, pw, add; pools, and fc: every operation, chains of three and of two, small. */
void made_small(graph_made_t *made);

/* Any small graph. */
void made_random(graph_made_t *made);

#endif
