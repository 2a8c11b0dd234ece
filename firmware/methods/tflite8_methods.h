/* What the methods that train tflite8 share: docs/arithmetic-zeroth-order.md and docs/arithmetic-tflite.md. */
#pragma once

#include "engine/method.h"
#include "formats/tflite8.h"
#include "kernels/updates.h"
#include "methods/reach.h"
#include "methods/settings.h"

/* tflite8_settings.c: the settings, docs/arithmetic-zeroth-order.md, section 8. */

static inline const tflite8_settings_t *tflite8_settings(const model_t *model) {
    return (const tflite8_settings_t *)(const void *)&model->settings;
}

/* Whether gradients come from errors that go back. */
static inline bool tflite8_goes_back(const tflite8_settings_t *settings) {
    return settings->method == METHOD_BP || settings->method == METHOD_TINYTRAIN;
}

static inline bool tflite8_has_velocities(const tflite8_settings_t *settings) {
    return tflite8_goes_back(settings) && settings->momentum > 0.0f;
}

/* A setting of one byte of which a method takes one value: `only` in hil/training/methods/methods.toml. */
typedef struct {
    uint8_t place, value;
} tflite8_only_t;

/* What the function `check` of these methods returns, with the `n` settings of which the method takes one value; and
   their function `training`. */
uint8_t tflite8_check(const settings_t *settings, const graph_file_t *file, const tflite8_only_t *only, uint32_t n);
training_t tflite8_training(const settings_t *settings, const graph_file_t *file);

/* Whether no layer after this one has weights. */
bool tflite8_is_last_with_weights(const graph_file_t *file, uint8_t l);

/* tflite8_demand.c: the buffers, and when they are in use, docs/memory.md. */

/* Buffers of a method's own, of which no method has two; and the queries. */
#define TFLITE8_NODE PLAN_OWN
#define TFLITE8_COORDINATES PLAN_OWN
#define TFLITE8_VELOCITY PLAN_OWN
#define TFLITE8_QUERIES PLAN_METHOD

/* What stays: labels, queries, samples; and with gradients of several samples, and velocities. */
void tflite8_stand_samples(plan_t *plan, const model_t *model);
void tflite8_stand(plan_t *plan, const model_t *model);

/* The buffers of passes from a start on, values and work. Call this before the other tflite8_demand functions. */
void tflite8_demand_passes(placing_t *placing, const model_t *model, start_t start);

/* Those of gradients from nodes, from coordinates, and of the backward pass. */
void tflite8_demand_nodes(placing_t *placing, const model_t *model, start_t start);
void tflite8_demand_coordinates(placing_t *placing, const model_t *model, start_t start);
void tflite8_demand_backward(placing_t *placing, const model_t *model);

/* tflite8_step.c: the step of a sample, docs/arithmetic-zeroth-order.md, section 7. */

typedef struct {
    pass_t clean;
    uint16_t number; /* of the step, from 0 */
    uint16_t label;
    float loss; /* of the clean pass */
} sample_t;

/* What a method does with a trained layer. `ask` makes its queries, whose passes begin at its start, and restores its
   weights; `learn` computes its gradient from them and, with one sample a step, updates it. */
typedef void layer_act_t(model_t *model, step_t *step, const sample_t *sample, uint8_t l);

typedef struct {
    layer_act_t *ask, *learn;
} layer_method_t;

/* The loss of a query, a pass of the layers from..n - 1; it is reported in the sum of all of them. */
float query_loss(model_t *model, step_t *step, const pass_t *pass, const sample_t *sample, uint8_t from);

/* The sample of the step in a slot, after its clean pass. */
sample_t tflite8_take_sample(model_t *model, step_t *step, uint16_t slot);

/* Take a sample through a step, layer by layer. */
void layer_wise_sample(model_t *model, step_t *step, uint16_t slot, const layer_method_t *method);

/* The functions `begin_pass`, `finish` and `trace` of these methods. */
void tflite8_begin_pass(model_t *model, step_t *step);
int8_t tflite8_finish(model_t *model, step_t *step);
void tflite8_trace(model_t *model, uint16_t first, uint16_t count);

/* What the tables of these methods have alike. */
#define TFLITE8_METHOD                                                                                                 \
    .format = FORMAT_TFLITE8, .settings = &tflite8_settings_table, .begin_pass = tflite8_begin_pass,                   \
    .trace = tflite8_trace

/* tflite8_backward.c: docs/arithmetic-tflite.md, sections 7.1 to 7.3. */

/* What a method does with a trained layer whose output has errors, with exponent `x`, after the gate. The factor C of
   the output is in gradient_factor. The error of the layer's input was computed before, by the weights of the step. */
typedef void layer_errors_t(model_t *model, const sample_t *sample, uint8_t l, const int8_t *errors, int32_t x);

/* Take the sample of the step in a slot through its clean pass, and its errors back to the first trained layer. */
void tflite8_take_back(model_t *model, step_t *step, uint16_t slot, layer_errors_t *act);

/* tflite8_gradient.c: with one sample a step, a gradient updates its layer; else it is added to the sum over the
   samples (docs/arithmetic-zeroth-order.md, sections 5 and 6). */

/* What of a layer has gradients: some output channels, and what is trained of them. */
typedef struct {
    uint32_t channels;
    const uint16_t *list;     /* these channels, ascending; NULL: all of the layer */
    uint32_t weights, biases; /* trained ones */
    int32_t *sum;             /* G of weights, then of biases; NULL with one sample a step */
    float *velocity;          /* V, in the same order; NULL without momentum */
} kept_t;

kept_t tflite8_kept(const model_t *model, uint8_t l);

/* The same with TinyTrain, after its choice: of a layer that a step updates. */
kept_t tinytrain_kept(const model_t *model, uint8_t l);

/* The gradient of a layer for one sample, while it is computed. */
typedef struct {
    model_t *model;
    uint8_t l;
    kept_t kept;
    bool at_once;  /* it updates its layer; else it is summed up */
    int32_t shift; /* of the sample's gradient against that of the samples before */
    tensors_t tensors;
    gradient_update_t update;
} gradient_sink_t;

/* Begin with the gradient of a sample with exponent `x`. */
gradient_sink_t gradient_open(model_t *model, const sample_t *sample, uint8_t l, int32_t x);

/* Begin with the gradient of a step of `samples` samples: it updates its layer. */
gradient_sink_t gradient_open_step(model_t *model, uint8_t l, uint32_t samples, int32_t x);

/* Take the gradient of what is kept of the layer, first..first + n - 1: weights, of whole channels where these are
   listed; or biases, which follow them. */
void gradient_take(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient);

/* Update the layers that a step updates by the sum over `samples` samples. */
void gradient_update_summed(model_t *model, uint32_t samples);

/* Set the velocities of these layers to 0. */
void tflite8_clear_velocities(model_t *model);

/* Clip what is trained to its limits between steps: docs/arithmetic-zeroth-order.md, section 2. */
void tflite8_limit_trained(model_t *model);

/* error_gradient.c: of the errors of a layer's output, with exponent `x`, section 5 there, NP, and
   docs/arithmetic-tflite.md, section 7.3. */
layer_errors_t error_gradient;

/* back_propagation.c: what TinyTrain shares with back-propagation, docs/arithmetic-tflite.md. */

/* The functions `check` and `demand` of back-propagation. */
uint8_t back_propagation_check(const settings_t *settings, const graph_file_t *file);
void back_propagation_demand(placing_t *placing, const model_t *model, start_t start);

/* Take the gradient of a layer, and count its products. */
layer_errors_t back_propagation_learn;
