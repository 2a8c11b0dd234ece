/* INT8 back-propagation with straight-through gradients: docs/arithmetic-backward.md. */
#ifndef BACK_PROPAGATION_H
#define BACK_PROPAGATION_H

#include "methods/graph_step.h"

/* Take the next sample of a step, which lies in a slot, through it. */
void back_propagation_sample(graph_model_t *model, graph_step_t *step, uint16_t slot);

#endif
