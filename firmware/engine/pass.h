/* Forward passes over the graph, or over a part of it. */
#pragma once

#include "engine/model.h"

/* What a pass reads. */
typedef struct {
    const int8_t *sample; /* the first of the group; the others follow in memory */
    uint16_t count;       /* samples of the group */
    uint8_t replaced;     /* a value that is read from `nodes`; 0: none */
    const int8_t *nodes;
    uint64_t perturbed; /* layers whose weights or biases are changed: the stored sums of the weights are wrong */
} pass_t;

/* Where a value is. */
const int8_t *pass_value(const model_t *model, const pass_t *pass, uint8_t value);

/* Run the layers from..to - 1, which are whole groups. The values that they read from other layers must be there. */
void pass_run(model_t *model, const pass_t *pass, uint8_t from, uint8_t to);

/* Run all layers, with the buffers that come first, and then with those of the first start. */
void pass_run_all(model_t *model, const pass_t *pass);

/* Place the buffers of the start at layer `from`, a later one than the start that is running. */
void pass_enter(model_t *model, uint8_t from);

/* The loss of the logits of a sample, for the label. */
float pass_loss(model_t *model, const pass_t *pass, uint16_t label);
