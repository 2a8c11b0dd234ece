/* Errors of layers in the format tflite8 between the backward passes of the layers: docs/arithmetic-tflite.md,
   section 5; docs/arithmetic-tflite.md, section 7.3. Tensors are [position][channel]. */
#pragma once

#include <stdint.h>

/* error[i] = 0 where out[i], the output of the layer, is not strictly between act_min and act_max. `n` errors. */
void tflite_clamp_s8_backward(const int8_t *out, int8_t *error, uint32_t n, int8_t act_min, int8_t act_max);

/* R: the first of the channels with the largest multiplier * 2^shift, the multiplier rounded to binary32. */
uint32_t largest_channel(const int32_t *multiplier, const int8_t *shift, uint32_t channels);

/* multiplier[o] * 2^(shift[o] - 31), the multiplier rounded to binary32. */
float channel_factor(const int32_t *multiplier, const int8_t *shift, uint32_t o);

/* Bring the errors of all channels to the scale of channel `largest`: out[p][o] = e'_o of error[p][o], which is the
   error times the factor of its channel divided by that of `largest`. `out` is `error`, or does not overlap it. */
void level_errors_s8(const int8_t *error, uint32_t positions, uint32_t channels, const int32_t *multiplier,
                     const int8_t *shift, uint32_t largest, int8_t *out);

/* The error that a further reader of a value adds: error * m * 2^exponent, in the factor of the value. */
typedef struct {
    const int8_t *error;
    int32_t m;        /* 2^15..2^16 - 1 */
    int32_t exponent; /* x2 + k of docs/arithmetic-tflite.md */
} merged_t;

/* Add `other` to the `n` errors of exponent `x`, in place. Returns the exponent of the sum. */
int32_t merge_errors_s8(int8_t *error, uint32_t n, int32_t x, const merged_t *other);
