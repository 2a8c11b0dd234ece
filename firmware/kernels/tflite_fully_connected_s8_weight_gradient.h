/* Weight gradient of fully_connected in TFLite's convention: docs/arithmetic-tflite.md, section 5. The error of its input is
   fully_connected_s8_input_error. */
#ifndef TFLITE_FULLY_CONNECTED_S8_WEIGHT_GRADIENT_H
#define TFLITE_FULLY_CONNECTED_S8_WEIGHT_GRADIENT_H

#include <stdint.h>

/* gradient[o][j] += error times (input - input_zero), from 0 on, at most 2^16 times: so it cannot overflow. */
void tflite_fully_connected_s8_weight_gradient(const int8_t *in, const int8_t *error, uint32_t inputs, uint32_t outputs,
                                               int8_t input_zero, int32_t *gradient);

#endif
