/* A layer of the format affine8 as the kernels of tflite8 take it. Private to the variants for single cores. */
#pragma once

#include "kernels/affine8.h"
#include "kernels/requantize.h"

typedef struct {
    tflite_layer_t shared; /* first, so that its address is that of the whole */
    const affine8_layer_t *layer;
} affine8_shared_t;

/* affine8_requantize_channels() of the layer that `shared` belongs to. */
requantize_channels_t affine8_requantize_shared;

static inline affine8_shared_t affine8_shared(const affine8_layer_t *layer) {
    return (affine8_shared_t){.shared = {.input_zero = layer->input_zero, .requantize = affine8_requantize_shared},
                              .layer = layer};
}
