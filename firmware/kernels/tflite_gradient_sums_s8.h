/* Steps of the weight gradients of conv2d, pointwise and fully_connected in the formats tflite8 and affine8, private to
   their kernels: docs/arithmetic-tflite.md, section 5; docs/arithmetic-affine8.md, section 7. In tflite8 the zero point
   of the errors is 0. */
#pragma once

#include <stdint.h>

#include "kernels/affine8.h"

/* Copy the inputs of each window to one row: patches[p][ky][kx][c] for the output positions first..first+positions-1 of
   the flattened output. The padding becomes the input's zero point. */
void tflite_patches_s8(const int8_t *in, const layer_shape_t *shape, int8_t input_zero, uint32_t first,
                       uint32_t positions, int8_t *patches);

/* gradient[o * taps + t] += the sum of e * in[p * step + t] over p in 0..positions-1, modulo 2^32; e is error[p *
   channels + o] - error_zero. */
void tflite_gradient_sums_s8(const int8_t *in, uint32_t step, uint32_t positions, const int8_t *error,
                             int8_t error_zero, uint32_t channels, uint32_t taps, int32_t *gradient);

/* Take the input's zero point out of the gradient: gradient[o * taps + t] -= input_zero * the sum of e over the
   positions. */
void tflite_unfold_gradient(const affine8_errors_t *errors, uint32_t positions, uint32_t taps, int8_t input_zero,
                            int32_t *gradient);

/* All steps for conv2d, with TFLITE_PATCHES patches in the scratch; `kept` is not read. */
void tflite_patches_gradient_s8(const int8_t *in, const affine8_errors_t *errors, const layer_shape_t *shape,
                                int8_t input_zero, int8_t *scratch, int32_t *gradient);
