/* All channels of a block of output positions: what the convolutions in TFLite's convention have in common. */
#ifndef TFLITE_BLOCK_S8_H
#define TFLITE_BLOCK_S8_H

#include <stdint.h>

#include "kernels/tflite_layer.h"

enum { TFLITE_BLOCK = 32 }; /* positions, at most */

/* Positions of a block: more of them where windows are small, which pays for what is done once a channel, fewer where scratch would
   grow. */
static inline uint32_t tflite_block_positions(uint32_t taps) {
    return taps <= 48 ? TFLITE_BLOCK : TFLITE_BLOCK / 2;
}

/* Bytes of scratch that tflite_block_s8 needs. */
uint64_t tflite_block_s8_scratch(uint32_t taps);

/* Position p sees in[p * step] to in[p * step + taps - 1]; its outputs are out[p * channels + o]. `scratch` is
   aligned to a word. */
void tflite_block_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps, uint32_t channels,
                     const tflite_layer_t *layer, int8_t *scratch, int8_t *out);

#endif
