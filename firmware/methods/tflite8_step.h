/* A sample of tflite8 on its way through a step: docs/arithmetic-zeroth-order.md, section 7. */
#ifndef TFLITE8_STEP_H
#define TFLITE8_STEP_H

#include "formats/tflite8.h"
#include "methods/tflite8_demand.h"

typedef struct {
    pass_t clean;
    uint16_t number; /* of the step, from 0 */
    uint16_t label;
    float loss; /* of the clean pass */
} sample_t;

/* What a method does with a trained layer. `ask` makes its queries, whose passes begin at its start, and leaves it as
   it was; `learn` makes its gradient of them and, with one sample a step, updates it. */
typedef void layer_act_t(model_t *model, step_t *step, const sample_t *sample, uint8_t l);

typedef struct {
    layer_act_t *ask, *learn;
} layer_method_t;

/* The layers from..n - 1 and the loss. */
static inline float loss_from(model_t *model, const pass_t *pass, const sample_t *sample, uint8_t from) {
    pass_run(model, pass, from, model->file.layers);
    return pass_loss(model, pass, sample->label);
}

/* The loss of a query; it is reported in the sum of all of them. */
static inline float query_loss(model_t *model, step_t *step, const pass_t *pass, const sample_t *sample, uint8_t from) {
    const float loss = loss_from(model, pass, sample, from);
    step->loss[1] = step->loss[1] + loss;
    return loss;
}

/* The next sample of the step: the one in a slot, after its clean pass. */
sample_t tflite8_take_sample(model_t *model, step_t *step, uint16_t slot);

/* Take a sample through a step, layer by layer. */
void layer_wise_sample(model_t *model, step_t *step, uint16_t slot, const layer_method_t *method);

/* The function `take` of these methods, with what they do with the sample of a slot; and their functions `finish` and
   `trace`. */
void tflite8_take(model_t *model, step_t *step, uint16_t count,
                  void (*sample)(model_t *model, step_t *step, uint16_t slot));
int8_t tflite8_finish(model_t *model, step_t *step);
void tflite8_trace(model_t *model, uint16_t first, uint16_t count);

#endif
