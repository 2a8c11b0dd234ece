/* The layers of docs/arithmetic-tflite.md and the estimates of docs/arithmetic-zeroth-order.md on the host, written from
 * these texts. hil/training/reference/native/tflite8/library.py says what each function takes.
 *
 * Values are int16 [height, width, channels] less their zero point, so that padding is 0. Functions that need memory of
 * their own return 0, or -1 where there is none.
 */
#pragma once

#include "lanes.h"

enum { SLACK = 64 }; /* numbers beyond the end of an array of int16 that may be read, and whose value is not used */

/* As in the network file. */
enum { CONV2D = 1, FULLY_CONNECTED = 2, MAX_POOL = 4, DEPTHWISE = 5, POINTWISE = 6, AVERAGE_POOL = 7, ADD = 8 };

enum { DOUBLE = 0, SINGLE = 1 }; /* roundings */

/* A layer. One that is fully connected has an input and an output of 1 x 1. */
typedef struct {
    int32_t operation, reads[2]; /* values */
    int32_t height, width, channels;
    int32_t out_height, out_width, outputs;
    int32_t kernel_height, kernel_width, stride_y, stride_x, padding_y, padding_x;
    int32_t rounding;
    int32_t zero;                      /* of the input */
    int32_t low, high;                 /* limits of the output less its zero point */
    int32_t multipliers[3], shifts[3]; /* of an add: of the inputs, of the output */
    const int8_t *weights;             /* in the order of the network file; none: NULL */
    const int32_t *bias, *multiplier;  /* by output channel */
    const int8_t *shift;
} Layer;

typedef struct {
    int32_t layers, pixel_offset; /* a pixel less the offset is value 0 */
    const Layer *layer;
    float scale; /* of the logits */
} Network;

/* A trained layer, and the sum of its gradients so far. */
typedef struct {
    int32_t layer, by_nodes, trains_weights, trains_bias;
    int32_t begun, exponent; /* of the sum, if it has begun */
    int32_t *gradient;       /* of the trained weights, then of the trained biases */
} Trained;

typedef struct {
    int32_t trained;
    Trained *part;
    int32_t model_wise, central, one_direction, queries;
    uint32_t seed, step;
} Method;

const char *tflite8_name(void);

/* Write a value [samples, elements] of images [samples, elements]. */
int tflite8_outputs(const Network *network, int64_t samples, const uint8_t *images, int32_t value, int16_t *out);

/* Add the gradients of samples, whose first has the number `first` in its step. Write the clean losses [samples], and
 * those of all queries [samples, ...] in the order of the text. */
int tflite8_estimate(const Network *network, const Method *method, int64_t samples, int64_t first,
                     const uint8_t *images, const int64_t *labels, float *clean, float *losses);

static inline ptrdiff_t in_size(const Layer *layer) {
    return (ptrdiff_t)layer->height * layer->width * layer->channels;
}

static inline ptrdiff_t out_positions(const Layer *layer) {
    return (ptrdiff_t)layer->out_height * layer->out_width;
}

static inline ptrdiff_t out_size(const Layer *layer) {
    return out_positions(layer) * layer->outputs;
}

static inline ptrdiff_t size_of_value(const Network *network, int32_t value) {
    return value ? out_size(network->layer + value - 1) : in_size(network->layer);
}

/* Return how many products one output has. */
static inline ptrdiff_t taps_of(const Layer *layer) {
    ptrdiff_t window = (ptrdiff_t)layer->kernel_height * layer->kernel_width;
    return layer->operation == DEPTHWISE ? window : window * layer->channels;
}

static inline ptrdiff_t weights_of(const Layer *layer) {
    return taps_of(layer) * layer->outputs;
}
