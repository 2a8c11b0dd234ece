/* The layers with weights of the format w16a8, int16 weights on int8 values: docs/arithmetic-w16a8.md, section 2. Sums
   are exact. Weights are those of a tensor, aligned to 4 bytes; `out` must not overlap `in`. */
#pragma once

#include <stdint.h>

#include "kernels/shapes.h"

/* Quantization parameters of a layer. */
typedef struct {
    int8_t input_zero, output_zero;
    int8_t act_min, act_max;
    int32_t multiplier;  /* 2^30..2^31 - 1 */
    int32_t shift;       /* -31..-2 */
    const int32_t *bias; /* by output channel */
} w16a8_layer_t;

/* conv2d and pointwise. `scratch` is aligned to a word, and has so many bytes. */
uint64_t w16a8_conv2d_scratch(const layer_shape_t *shape);
void w16a8_conv2d(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                  int16_t *scratch, int8_t *out);

/* fully_connected: `inputs` values, flattened. */
uint64_t w16a8_fully_connected_scratch(uint32_t inputs);
void w16a8_fully_connected(const int8_t *in, const int16_t *weights, uint32_t inputs, uint32_t outputs,
                           const w16a8_layer_t *layer, int16_t *scratch, int8_t *out);

/* depthwise needs no scratch. */
void w16a8_depthwise(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, const w16a8_layer_t *layer,
                     int8_t *out);
