/* The format float32: binary32 numbers (docs/arithmetic-float32.md). */
#pragma once

#include "engine/format.h"
#include "kernels/layers_f32.h"

extern const format_t float32;

#define FLOAT32_INPUT PLAN_OWN /* the buffers `input` of docs/memory.md: value 0, for the gradient of a layer */

/* A buffer of the plan; and a value that a pass reads or has made. */
static inline float *float32_buffer(const model_t *model, enum plan_line line, uint8_t i) {
    return (float *)(void *)model_buffer(model, line, i);
}

/* Weights and biases of a layer. */
static inline float *float32_weights(const model_t *model, uint8_t l) {
    return (float *)(void *)model_weights(model, l);
}

static inline float *float32_biases(const model_t *model, uint8_t l) {
    return (float *)(void *)model_biases(model, l);
}

/* Limits of the outputs of a layer. */
static inline limits_f32_t float32_limits(const model_t *model, uint8_t l) {
    const graph_limits_t *limits = graph_limits(&model->file, graph_layer(&model->file, l));
    return (limits_f32_t){.least = limits->act_min, .most = limits->act_max};
}

/* Compute value 0 of the sample of a pass. */
void float32_make_input(const model_t *model, const pass_t *pass, float *to);

/* The way back of the sample that went through last, one layer at a time: section 5. Errors are in the buffers
   `error`. */

/* The error of the logits. */
void float32_logits_error(const model_t *model, uint16_t label);

/* The gate of a layer that is no pool, in the error of its output. */
void float32_gate(const model_t *model, uint8_t l);

/* Give an error to the first (0) or second (1) value that a layer reads; `further`: it has one already. `kept`: what the
   error of a layer with weights has. */
void float32_input_error(const model_t *model, uint8_t l, uint8_t read, bool further, const kept_f32_t *kept);

/* Add the gradients of the weights and of the biases of a layer to its buffer `gradient`. Value 0 is computed again if
   the layer reads it; `pass`: that of the sample. */
void float32_gradient(const model_t *model, const pass_t *pass, uint8_t l);
