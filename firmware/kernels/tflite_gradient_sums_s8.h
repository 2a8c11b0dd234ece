/* The products of weight gradients in TFLite's convention: errors of positions times their inputs. */
#ifndef TFLITE_GRADIENT_SUMS_S8_H
#define TFLITE_GRADIENT_SUMS_S8_H

#include <stdint.h>

/* gradient[o * taps + t] += the sum of error[p * channels + o] * in[p * step + t] over p in 0..positions-1, modulo 2^32. */
void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                             uint32_t channels, uint32_t taps, int32_t *gradient);

#endif
