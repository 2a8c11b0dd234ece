/* The input's zero point taken out of a weight gradient: docs/arithmetic-tflite.md, section 5. */
#ifndef TFLITE_UNFOLD_GRADIENT_H
#define TFLITE_UNFOLD_GRADIENT_H

#include <stdint.h>

/* gradient[o * taps + t] -= input_zero * the sum of error[p][o] over the positions. */
void tflite_unfold_gradient(const int8_t *error, uint32_t positions, uint32_t channels, uint32_t taps,
                            int8_t input_zero, int32_t *gradient);

#endif
