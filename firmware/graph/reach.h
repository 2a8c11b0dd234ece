/* Where errors go in back-propagation: docs/arithmetic-backward.md, section 3. */
#ifndef GRAPH_REACH_H
#define GRAPH_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/settings.h"

/* The first trained layer; there is one. */
static inline uint8_t graph_first_trained(const graph_training_t *training) {
    return (uint8_t)__builtin_ctzll(training->layers);
}

/* Whether errors are handed on to a value: one that is made at or behind the first trained layer. */
static inline bool graph_has_error(const graph_training_t *training, uint8_t value) {
    return value > graph_first_trained(training);
}

/* The layers, from the first trained one on, whose output an error reaches: the last of all, and those that such a layer reads. */
uint64_t graph_reached(const graph_file_t *file, const graph_training_t *training);

/* The last layer that reads a value and is reached, which is the first to hand an error on to it; the number of layers, which stands for
   the loss, for the last value. The value has an error. */
uint8_t graph_last_reached_reader(const graph_file_t *file, const graph_training_t *training, uint8_t value);

/* Whether all pools from the first trained layer on have windows that lie within the image, and apart from each other. */
bool graph_pools_pass_errors(const graph_file_t *file, const graph_training_t *training);

#endif
