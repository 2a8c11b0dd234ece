/* The arithmetic of docs/arithmetic-float32.md on the host. hil/reference/native/float32/library.py says what each
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
    int32_t kernel_height, kernel_width, stride, padding;
    Limits limits; /* of the output */
} Layer;

/* Return the taps that lie inside the image for an output place of an axis. */
INLINE Range taps_inside(const Layer *layer, int32_t place, int32_t kernel, int32_t size) {
    return taps_from(place * layer->stride - layer->padding, kernel, size);
}

/* Return the output place whose tap is at `place` of the input; -1 if there is none. */
INLINE int32_t place_over(const Layer *layer, int32_t place, int32_t tap, int32_t count) {
    int32_t at = place + layer->padding - tap;
    return at >= 0 && at % layer->stride == 0 && at / layer->stride < count ? at / layer->stride : -1;
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
