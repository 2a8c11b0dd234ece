/* Zero padding of the input of conv2d. Private to the kernels of conv2d in the format bfp8. */
#pragma once

#include <stdint.h>

#include "kernels/shapes.h"

/* Bytes of scratch that pad_input_s8 needs, and with it every kernel of conv2d; 64 of them are room for a kernel to
   read beyond the last row. */
uint64_t pad_input_s8_scratch(const layer_shape_t *shape);

/* The padded input: (in_h + 2 padding) x (in_w + 2 padding) x in_c bytes of `scratch`, in which the inputs of one
   kernel row are contiguous. Copied without padding too, because of the room after it. */
void pad_input_s8(const int8_t *in, const layer_shape_t *shape, int8_t *scratch);
