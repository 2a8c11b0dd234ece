/* The format tflite8: int8 with a scale and a zero point a tensor, as TFLite has it (docs/arithmetic-tflite.md). The
   engine calls its forward pass through its table. */
#pragma once

#include "engine/format.h"
#include "kernels/gains.h"
#include "kernels/requantize.h"

extern const format_t tflite8;

/* Weights and what goes with them, by output channel. Only those of a trained layer may be written. */
typedef struct {
    int8_t *weights;
    int32_t *sums; /* of the weights */
    int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    const float *scale;
} tensors_t;

/* Of its table, for the formats whose layers without weights and whose logits are those of tflite8. */
void tflite8_run_unweighted(model_t *model, const pass_t *pass, uint8_t l);
float tflite8_loss(const model_t *model, const int8_t *logits, uint32_t label);

tensors_t tflite8_tensors(const model_t *model, uint8_t l);

/* The gains of a layer, where these are trained (docs/arithmetic-quzo.md, section 10), and the bytes of their buffer. It
   runs with the factors that were last made of them. */
gains_t tflite8_gains(const model_t *model, uint8_t l);
uint64_t tflite8_gain_bytes(const graph_layer_t *layer);

/* Compute the sums of a trained layer's weights again. */
void tflite8_sum_weights(const model_t *model, uint8_t l);

/* What the kernels of a layer with weights take besides their input. */
typedef struct {
    const graph_layer_t *layer;
    layer_shape_t shape;
    const int8_t *weights;
    tflite_layer_t factors;
    int8_t *work, *scratch;
} layer_args_t;

/* Fold the input's zero point into the bias of a layer, and gather the rest. */
layer_args_t tflite8_layer_args(const model_t *model, const pass_t *pass, uint8_t l);

/* Run the chain that begins with layer l, row by row (docs/memory.md, groups and starts). */
void tflite8_run_chain(model_t *model, const pass_t *pass, uint8_t l);
