/* Backward pass of max_pool in TFLite's convention: docs/arithmetic-backward.md, section 3. */
#ifndef TFLITE_MAX_POOL_S8_BACKWARD_H
#define TFLITE_MAX_POOL_S8_BACKWARD_H

#include <stdint.h>

#include "kernels/shapes.h"

/* The error of each output goes to the first maximum of its window in row-major order; every other input error is 0.
   Windows do not overlap, and lie within the image. */
void tflite_max_pool_s8_backward(const int8_t *in, const int8_t *error, const layer_shape_t *shape,
                                 int8_t *input_error);

#endif
