/* average_pool in TFLite's convention: docs/arithmetic-tflite.md, section 4. */
#ifndef TFLITE_AVERAGE_POOL_S8_H
#define TFLITE_AVERAGE_POOL_S8_H

#include <stdint.h>

#include "kernels/shapes.h"

/* Only the part of a window inside the image counts; any kernel, stride and padding. */
void tflite_average_pool_s8(const int8_t *in, const layer_shape_t *shape, int8_t act_min, int8_t act_max, int8_t *out);

#endif
