/* Where gradients go: into the update of a layer with one sample a step, else into their sum over the samples
   (docs/arithmetic-zeroth-order.md, sections 5 and 6). */
#ifndef TFLITE8_GRADIENT_H
#define TFLITE8_GRADIENT_H

#include "kernels/gradient_update.h"
#include "methods/tflite8_step.h"

/* The gradient of a layer, of one sample, while it is made. */
typedef struct {
    model_t *model;
    uint8_t l;
    bool at_once;  /* it updates its layer; else it is summed up */
    int32_t shift; /* of the sample's gradient against that of the samples before */
    tensors_t tensors;
    gradient_update_t update;
} gradient_sink_t;

/* Begin with the gradient of a sample with exponent `x`. */
gradient_sink_t gradient_open(model_t *model, const sample_t *sample, uint8_t l, int32_t x);

/* Begin with the gradient of a step of `samples` samples: it updates its layer. */
gradient_sink_t gradient_open_step(model_t *model, uint8_t l, uint32_t samples, int32_t x);

/* Take the gradient of weights, or biases, first..first + n - 1 of the layer. */
void gradient_take_weights(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient);
void gradient_take_biases(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient);

/* Update all trained layers by the sum over `samples` samples. */
void gradient_update_summed(model_t *model, uint32_t samples);

/* Let all velocities begin at 0. */
void tflite8_clear_velocities(model_t *model);

/* Clip what is trained to where it rests: docs/arithmetic-zeroth-order.md, section 2. */
void tflite8_limit_trained(model_t *model);

/* Of the errors of a layer's output, with exponent `x`: section 5 there, NP, and docs/arithmetic-backward.md, section
   3. */
void error_gradient(model_t *model, const sample_t *sample, uint8_t l, const int8_t *errors, int32_t x);

#endif
