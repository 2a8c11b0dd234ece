/* The gate of the clamp: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_CLAMP_S8_BACKWARD_H
#define TFLITE_CLAMP_S8_BACKWARD_H

#include <stdint.h>

/* error = 0 where the layer's output is not between act_min and act_max, both excluded. */
void tflite_clamp_s8_backward(const int8_t *out, int8_t *error, uint32_t n, int8_t act_min, int8_t act_max);

#endif
