/* Forward passes over the graph, or over a part of it: docs/arithmetic-tflite.md, docs/arithmetic-zeroth-order.md. */
#ifndef GRAPH_FORWARD_H
#define GRAPH_FORWARD_H

#include "graph/model.h"

/* What the pass reads that is not as the step found it. */
typedef struct {
    const int8_t *sample;
    uint64_t perturbed; /* layers whose weights or biases are: the sums of their weights do not hold */
    uint8_t replaced;   /* a value that is read from `nodes`; 0: none */
    const int8_t *nodes;
} pass_t;

/* Where a value is. */
const int8_t *graph_value(const graph_model_t *model, const pass_t *pass, uint8_t value);

/* Run the layers from..to - 1, which are whole groups; `from` finds all values that these layers read of others. */
void graph_run(graph_model_t *model, const pass_t *pass, uint8_t from, uint8_t to);

/* Run all layers, with the buffers of the prefix, and then of the first start. */
void graph_run_all(graph_model_t *model, const pass_t *pass);

/* Place the buffers of the start at layer `from`, which is behind the one that is running. */
void graph_enter(graph_model_t *model, uint8_t from);

/* The loss of the logits, for the label. */
float graph_loss(graph_model_t *model, const pass_t *pass, uint16_t label);

#endif
