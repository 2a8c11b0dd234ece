/* The arithmetic of docs/arithmetic-w16a8.md on the host. hil/training/reference/native/w16a8/library.py says what each function
 * takes.
 *
 * Values are int16 [height, width, channels, lanes], less their zero point, a lane for each sample and some more:
 * `lanes` is a multiple of LANES. Functions that need memory of their own return 0, or -1 where there is none.
 */
#pragma once

#include "../windows.h"
#include "lanes.h"

/* From sums to outputs less their zero point; without weights the limits only. The shift is -31..-2. */
typedef struct {
    int32_t multiplier, shift, low, high;
} Scaling;

/* A layer with windows; a fully connected one has an input and an output of 1 x 1. */
typedef struct {
    int32_t height, width, channels; /* of the input */
    int32_t out_height, out_width, outputs;
    int32_t kernel_height, kernel_width, down, across, top, left; /* strides, and padding above and left */
    int32_t zero;                                                 /* of the input */
    Scaling scaling;
} Layer;

/* Factors of an add: of the first input, the second, the output. Shifts are -31..0. */
typedef struct {
    int32_t multipliers[3], shifts[3], low, high;
} Add;

const char *w16a8_name(void);
int w16a8_lanes(void);

/* Write value 0 of pixels, and 0 in the lanes beyond the samples. */
void w16a8_input(int64_t samples, int64_t size, int64_t lanes, const uint8_t *images, int32_t offset, int16_t *out);

int w16a8_convolution(const Layer *layer, int64_t lanes, const int16_t *weights, const int32_t *biases,
                      const int16_t *x, int16_t *out);

int w16a8_depthwise(const Layer *layer, int64_t lanes, const int16_t *weights, const int32_t *biases, const int16_t *x,
                    int16_t *out);

void w16a8_max_pool(const Layer *layer, int64_t lanes, const int16_t *x, int16_t *out);

void w16a8_average_pool(const Layer *layer, int64_t lanes, const int16_t *x, int16_t *out);

void w16a8_add(const Add *add, int64_t size, const int16_t *one, const int16_t *other, int16_t *out);

void w16a8_losses(int64_t classes, int64_t samples, int64_t lanes, float scale, const int16_t *logits,
                  const int64_t *labels, float *losses);
