/* Backward pass over the layers that back-propagation trains, one group of samples at a time (docs/arithmetic.md, section 7). */
#ifndef BACKWARD_H
#define BACKWARD_H

#include "net/model.h"

/* Begin a step: no gradients yet. */
void backward_begin(model_t *model);

/* Add the gradients of the `count` samples that `forward` has just seen. */
void backward(model_t *model, const int8_t *samples, const uint8_t *labels, uint16_t count);

/* Update the weights by the gradients of the step. */
void backward_update(model_t *model, int32_t b_bp);

#endif
