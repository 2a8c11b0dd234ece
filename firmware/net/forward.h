/* Forward pass over the graph, one sample at a time. */
#ifndef FORWARD_H
#define FORWARD_H

#include "net/model.h"

/* Fill the activations and their exponents from a sample; the last of them are the logits. */
void forward(model_t *model, const int8_t *sample);

#endif
