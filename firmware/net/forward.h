/* Forward pass over the graph, one group of samples at a time (docs/arithmetic.md, section 4). */
#ifndef FORWARD_H
#define FORWARD_H

#include "net/model.h"

/* Fill the activations and their exponents from `count` samples, one after the other in memory, that share their exponents; the
   last of the activations are the logits. */
void forward(model_t *model, const int8_t *samples, uint16_t count);

#endif
