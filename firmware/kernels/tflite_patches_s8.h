/* The inputs under the windows of a convolution, one window behind the other: the padding becomes the input's zero point. */
#ifndef TFLITE_PATCHES_S8_H
#define TFLITE_PATCHES_S8_H

#include <stdint.h>

#include "kernels/shapes.h"

/* patches[p][ky][kx][c] for the output positions first..first+positions-1 of the flattened output. */
void tflite_patches_s8(const int8_t *in, const layer_shape_t *shape, int8_t input_zero, uint32_t first,
                       uint32_t positions, int8_t *patches);

#endif
