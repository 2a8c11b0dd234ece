/* The arithmetic of docs/arithmetic-float32.md on the host. hil/training/reference/native/float32/library.py says what each
 * function takes.
 *
 * Values and errors are binary32 [height, width, channels, lanes], a lane for each sample and some more: `lanes` is a
 * multiple of LANES. Functions that need memory of their own return 0, or -1 where there is none.
 */
#pragma once

#include "../windows.h"
#include "lanes.h"

enum { SOME = 4 }; /* vectors of a place of a pool that are worked on at a time */

/* A layer with windows; a fully connected one has an input and an output of 1 x 1. */
typedef struct {
    int32_t height, width, channels; /* of the input */
    int32_t out_height, out_width, outputs;
    int32_t kernel_height, kernel_width, down, across, top, left; /* strides, and padding above and left */
    Limits limits;                                                /* of the output */
} Layer;

/* Return the rows of taps that lie inside the image for a row of the output. */
INLINE Range rows_inside(const Layer *layer, int32_t y) {
    return taps_from(y * layer->down - layer->top, layer->kernel_height, layer->height);
}

/* Return the columns of taps that lie inside the image for a column of the output. */
INLINE Range columns_inside(const Layer *layer, int32_t x) {
    return taps_from(x * layer->across - layer->left, layer->kernel_width, layer->width);
}

INLINE int32_t place_over(int32_t at, int32_t stride, int32_t count) {
    return at >= 0 && at % stride == 0 && at / stride < count ? at / stride : -1;
}

/* Return the row of the output whose tap `ky` is at row `y` of the input; -1 if there is none. */
INLINE int32_t row_over(const Layer *layer, int32_t y, int32_t ky) {
    return place_over(y + layer->top - ky, layer->down, layer->out_height);
}

/* Return the column of the output whose tap `kx` is at column `x` of the input; -1 if there is none. */
INLINE int32_t column_over(const Layer *layer, int32_t x, int32_t kx) {
    return place_over(x + layer->left - kx, layer->across, layer->out_width);
}

const char *float32_name(void);
int float32_lanes(void);

void float32_input(int64_t samples, int64_t size, int64_t lanes, const uint8_t *images, float scale, float offset,
                   float *out);

int float32_convolution(const Layer *layer, int64_t lanes, const float *weights, const float *biases, const float *x,
                        float *out);

void float32_depthwise(const Layer *layer, int64_t lanes, const float *weights, const float *biases, const float *x,
                       float *out);

void float32_max_pool(const Layer *layer, int64_t lanes, const float *x, float *out);

void float32_average_pool(const Layer *layer, int64_t lanes, const float *x, float *out);

void float32_add(int64_t size, float low, float high, const float *one, const float *other, float *out);

/* Write the loss of each sample and the error of its logits, with 0 in the lanes beyond the samples. */
void float32_losses(int64_t classes, int64_t samples, int64_t lanes, const float *logits, const int64_t *labels,
                    float *losses, float *error);

void float32_gate(int64_t size, float low, float high, const float *error, const float *value, float *out);

int float32_convolution_error(const Layer *layer, int64_t lanes, const float *weights, const float *error, float *out);

void float32_depthwise_error(const Layer *layer, int64_t lanes, const float *weights, const float *error, float *out);

void float32_max_pool_error(const Layer *layer, int64_t lanes, const float *error, const float *x, float *out);

void float32_average_pool_error(const Layer *layer, int64_t lanes, const float *error, float *out);

/* The gradients of the samples are added to G, sample after sample. */
int float32_convolution_gradient(const Layer *layer, int64_t samples, int64_t lanes, const float *error, const float *x,
                                 float *gradient);

int float32_depthwise_gradient(const Layer *layer, int64_t samples, int64_t lanes, const float *error, const float *x,
                               float *gradient);

int float32_dense_gradient(int64_t inputs, int64_t outputs, int64_t samples, int64_t lanes, const float *error,
                           const float *x, float *gradient);

void float32_bias_gradient(int64_t positions, int64_t outputs, int64_t samples, int64_t lanes, const float *error,
                           float *gradient);

void float32_normals(uint32_t start, const int32_t *knots, int64_t size, float *z);

void float32_moved(int64_t size, float c, const float *weights, const float *z, float *out);

void float32_lowered(int64_t size, float u, float limit, const float *weights, const float *gradient, float *out);
