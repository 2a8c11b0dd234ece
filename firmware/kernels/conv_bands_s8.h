/* conv2d and pointwise of the formats tflite8 and affine8, forward: band by band. Private to their kernels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/requantize.h"
#include "kernels/shapes.h"

/* Weights as they are stored, [o][ky][kx][c]. */
typedef struct {
    const int8_t *at;
    bool affine; /* they are all of int8, and the products take them less `zero`; else they are -127..127 */
    int8_t zero;
} conv_weights_t;

/* Rows first..first + count - 1 of the output of conv2d, which are written from `out` on. */
void conv_bands_s8(const int8_t *in, const conv_weights_t *weights, const layer_shape_t *shape,
                   const tflite_layer_t *layer, uint32_t first, uint32_t count, int8_t *scratch, int8_t *out);

/* pointwise. */
void conv_blocks_s8(const int8_t *in, const conv_weights_t *weights, const layer_shape_t *shape,
                    const tflite_layer_t *layer, int8_t *scratch, int8_t *out);
