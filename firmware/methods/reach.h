/* Where errors go in back-propagation over a graph, whatever the format: docs/arithmetic-tflite.md, section 7.3, and
   docs/arithmetic-float32.md, section 5. `training` says which layer is the first that it trains. */
#pragma once

#include "engine/plan.h"
#include "engine/training.h"

/* Whether errors are handed on to a value: one that is made at or behind the first trained layer. */
static inline bool has_error(const training_t *training, uint8_t value) {
    return value > training->first_backward;
}

/* The layers, from the first trained one on, whose output an error reaches: the last of all, and those that such a
   layer reads. */
uint64_t reached_layers(const graph_file_t *file, const training_t *training);

/* The last layer that reads a value and is reached, which is the first to hand an error on to it; the number of
   layers, which stands for the loss, for the last value. The value has an error. */
uint8_t last_reached_reader(const graph_file_t *file, const training_t *training, uint8_t value);

/* With n layers, slot 2n - l is the backward pass of layer l. */
static inline uint8_t slot_back(const graph_file_t *file, uint8_t l) {
    return (uint8_t)(2 * file->layers - l);
}

/* Whether a layer hands an error on to a value that it reads. */
static inline bool hands_on(const training_t *training, const graph_layer_t *layer) {
    return has_error(training, layer->reads[0]) ||
           (graph_read_count(layer) > 1 && has_error(training, layer->reads[1]));
}

/* Whether a layer that is reached looks at the values that it reads on the way back: for its gradient, or for the errors
   that it hands on. */
static inline bool looks_at_values(const training_t *training, const graph_layer_t *layer) {
    const bool spreads = layer->op == OP_MAX_POOL || layer->op == OP_HARD_SWISH || layer->op == OP_MULTIPLY;
    return graph_has_weights(layer) || (spreads && hands_on(training, layer));
}

/* The errors of all values that have one: in use from their last reader, or the loss, to the layers that make them. */
void demand_errors(placing_t *placing, const graph_file_t *file, const training_t *training);

/* Whether all layers from the first trained one on pass errors: there is no table, and all pools have windows that lie
   within the image, and apart from each other. */
bool layers_pass_errors(const graph_file_t *file, const training_t *training);
