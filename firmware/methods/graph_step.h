/* A step of tflite8 under way, and a sample on its way through it: docs/arithmetic-zeroth-order.md, section 7. */
#ifndef GRAPH_STEP_H
#define GRAPH_STEP_H

#include <stdint.h>

#include "graph/forward.h"

/* All zeros but `step`: it has not begun. */
typedef struct {
    uint32_t step;
    uint16_t through; /* samples that have been through it */
    float loss_plus, loss_minus;
} graph_step_t;

typedef struct {
    pass_t clean;
    uint16_t number; /* of the step, from 0 */
    uint16_t label;
    float loss; /* of the clean pass */
} sample_t;

/* What a method does with a trained layer. `ask` makes its queries, whose passes begin at its start, and leaves it as it was; `learn` makes
   its gradient of them and, with one sample a step, updates it. */
typedef void layer_act_t(graph_model_t *model, graph_step_t *step, const sample_t *sample, uint8_t l);

typedef struct {
    layer_act_t *ask, *learn;
} layer_method_t;

/* The layers from..n - 1 and the loss. */
static inline float loss_from(graph_model_t *model, const pass_t *pass, const sample_t *sample, uint8_t from) {
    graph_run(model, pass, from, model->file.layers);
    return graph_loss(model, pass, sample->label);
}

/* The loss of a query; it is reported in the sum of all of them. */
static inline float query_loss(graph_model_t *model, graph_step_t *step, const pass_t *pass, const sample_t *sample,
                               uint8_t from) {
    const float loss = loss_from(model, pass, sample, from);
    step->loss_minus = step->loss_minus + loss;
    return loss;
}

/* The next sample of the step: the one in a slot, after its clean pass. */
sample_t graph_take_sample(graph_model_t *model, graph_step_t *step, uint16_t slot);

/* Take a sample through a step, layer by layer. */
void layer_wise_sample(graph_model_t *model, graph_step_t *step, uint16_t slot, const layer_method_t *method);

#endif
