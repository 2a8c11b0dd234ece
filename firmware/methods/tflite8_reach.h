/* Where errors go in back-propagation: docs/arithmetic-backward.md, section 3. */
#ifndef TFLITE8_REACH_H
#define TFLITE8_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "methods/tflite8_settings.h"

/* Whether errors are handed on to a value: one that is made at or behind the first trained layer. */
static inline bool tflite8_has_error(const training_t *training, uint8_t value) {
    return value > training->first_backward;
}

/* The layers, from the first trained one on, whose output an error reaches: the last of all, and those that such a
   layer reads. */
uint64_t tflite8_reached(const graph_file_t *file, const training_t *training);

/* The last layer that reads a value and is reached, which is the first to hand an error on to it; the number of
   layers, which stands for the loss, for the last value. The value has an error. */
uint8_t tflite8_last_reached_reader(const graph_file_t *file, const training_t *training, uint8_t value);

/* Whether all pools from the first trained layer on have windows that lie within the image, and apart from each
   other. */
bool tflite8_pools_pass_errors(const graph_file_t *file, const training_t *training);

#endif
