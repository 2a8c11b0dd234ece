/* All channels of a block of output positions: what the convolutions in TFLite's convention have in common. */
#ifndef TFLITE_BLOCK_S8_H
#define TFLITE_BLOCK_S8_H

#include <stdint.h>

#include "kernels/tflite_layer.h"

enum { TFLITE_BLOCK = 16 }; /* positions, at most */

/* Position p sees in[p * step] to in[p * step + taps - 1]; its outputs are out[p * channels + o]. */
void tflite_block_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps, uint32_t channels,
                     const tflite_layer_t *layer, int8_t *out);

#endif
