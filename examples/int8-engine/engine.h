/* Training in integers: 16 inputs, 12 hidden units with ReLU, 3 outputs; weights and activations are int8. */
#pragma once

#include <stdint.h>

enum { INPUTS = 16, HIDDEN = 12, CLASSES = 3, BATCH = 8, SHIFT = 7, UPDATE_SHIFT = 11, TARGET = 64 };

typedef struct {
    int8_t fc1[HIDDEN][INPUTS];
    int8_t fc2[CLASSES][HIDDEN];
} engine_t;

/* Train one batch, and return the sum of the squared errors before the update. */
int32_t engine_step(engine_t *engine, const int8_t x[BATCH][INPUTS], const uint8_t label[BATCH]);

/* Return the class of a sample: the largest output, of several the first. */
uint8_t engine_predict(const engine_t *engine, const int8_t x[INPUTS]);
