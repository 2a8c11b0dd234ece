/* Poor Man's Training: docs/arithmetic-zeroth-order.md, sections 3 to 7; MeZO is its model-wise form with central differences. */
#ifndef POOR_MANS_H
#define POOR_MANS_H

#include "methods/graph_step.h"

/* Take the next sample of a step, which lies in a slot, through it. */
void poor_mans_sample(graph_model_t *model, graph_step_t *step, uint16_t slot);

#endif
