/* docs/arithmetic-tflite.md once more, as plainly as the text allows: 64-bit integers, divisions, zero points
   subtracted where they stand. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/shapes.h"

int64_t naive_rescale_double(int64_t acc, int64_t multiplier, int64_t shift);
int64_t naive_rescale_single(int64_t acc, int64_t multiplier, int64_t shift);
int64_t naive_clamp(int64_t x, int64_t least, int64_t most);

/* Calls `visit` for every product of weight, input and output inside the image, by their indices. */
typedef void naive_product_t(void *context, uint32_t weight, uint32_t input, uint32_t output);
void naive_products(const layer_shape_t *shape, bool depthwise, naive_product_t *visit, void *context);

void naive_tflite_max_pool(const int8_t *in, const layer_shape_t *shape, int64_t act_min, int64_t act_max, int8_t *out);
void naive_tflite_average_pool(const int8_t *in, const layer_shape_t *shape, int64_t act_min, int64_t act_max,
                               int8_t *out);
