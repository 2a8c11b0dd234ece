/* The products of convolutions in TFLite's convention: rows of inputs times rows of weights. */
#ifndef TFLITE_ROW_SUMS_S8_H
#define TFLITE_ROW_SUMS_S8_H

#include <stdint.h>

/* sums[o * positions + p] = the exact sum of in[p * step + t] * weights[o * taps + t] over t in 0..taps-1. */
void tflite_row_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *weights, uint32_t taps,
                        uint32_t channels, int32_t *sums);

#endif
