/* Backward pass over the layers that back-propagation trains, one sample at a time. */
#ifndef BACKWARD_H
#define BACKWARD_H

#include "net/model.h"

/* Begin a step: no gradients yet. */
void backward_begin(model_t *model);

/* Add the gradients of the sample that `forward` has just seen. */
void backward(model_t *model, const int8_t *sample, uint8_t label);

/* Update the weights by the gradients of the step. */
void backward_update(model_t *model, int32_t b_bp);

#endif
