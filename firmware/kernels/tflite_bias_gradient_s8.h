/* Bias gradient: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_BIAS_GRADIENT_S8_H
#define TFLITE_BIAS_GRADIENT_S8_H

#include <stdint.h>

/* gradient[o] += the sum of error[p][o] over the positions. */
void tflite_bias_gradient_s8(const int8_t *error, uint32_t positions, uint32_t channels, int32_t *gradient);

#endif
