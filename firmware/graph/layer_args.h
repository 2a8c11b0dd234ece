/* What the kernels of a layer with weights take beside their input. */
#ifndef GRAPH_LAYER_ARGS_H
#define GRAPH_LAYER_ARGS_H

#include "graph/forward.h"
#include "kernels/tflite_layer.h"

typedef struct {
    const graph_layer_t *layer;
    layer_shape_t shape;
    const int8_t *weights;
    tflite_layer_t factors;
    int8_t *work, *scratch;
} layer_args_t;

/* Fold the input's zero point into the bias of a layer, and gather the rest. */
layer_args_t graph_layer_args(const graph_model_t *model, const pass_t *pass, uint8_t l);

/* Run the chain that begins with layer l, row by row (docs/memory-graph.md, groups and starts). */
void graph_run_chain(graph_model_t *model, const pass_t *pass, uint8_t l);

#endif
