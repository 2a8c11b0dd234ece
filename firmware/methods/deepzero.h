/* DeepZero's coordinate-wise estimate: docs/arithmetic-zeroth-order.md, section 8. */
#ifndef DEEPZERO_H
#define DEEPZERO_H

#include "methods/graph_step.h"

/* Take the next sample of a step, which lies in a slot, through it. */
void deepzero_sample(graph_model_t *model, graph_step_t *step, uint16_t slot);

#endif
