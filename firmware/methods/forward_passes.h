/* What methods share that train by forward passes alone, of all layers, on w16a8 and on tflite8: docs/memory.md, w16a8.
   One start; layer l is slot l, and the slot behind that of the loss is what is between passes. */
#pragma once

#include "engine/method.h"
#include "kernels/directions.h"

/* The weights of the last `count` layers that have some are trained, in steps of so many passes. */
training_t forward_training(const graph_file_t *file, uint8_t count, uint32_t passes);

/* Labels and samples stay. */
void forward_stand(plan_t *plan, const model_t *model);

/* Values and the work of layers; and a buffer of the method between passes. */
void forward_demand(placing_t *placing, const model_t *model, start_t start, uint16_t between, uint32_t bytes);

/* The pool of a step, gaussian, in a buffer of FORWARD_POOL_BYTES between passes. */
enum { FORWARD_POOL_BYTES = 4 * NOISE_ENTRIES };
const int8_t (*forward_pool(const model_t *model, uint16_t between, uint32_t step))[4];

/* Take a sample through a pass, of which the even ones of a step are those with w + u: its loss goes to their pair. */
void forward_take(model_t *model, step_t *step, uint16_t slot);

/* Both passes of a pair are through: the sign of the difference of their losses; add them to those of the step. */
int32_t forward_sign(const step_t *step);
void forward_report(step_t *step);

void forward_trace(model_t *model, uint16_t first, uint16_t count);
