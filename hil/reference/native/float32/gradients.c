/* Gradients of weights and biases (docs/arithmetic-float32.md, section 5).
 *
 * The gradient of one sample is a sum over output positions; the samples of a vector are summed up side by side, and
 * then added to G one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "products.h"

enum { OUTPUTS = 4 };
#ifdef __AVX512F__
enum { TAPS = 5 }; /* of a block: it fits 32 registers, */
#else
enum { TAPS = 2 }; /* and 16 */
#endif

/* A convolution's gradient: errors [positions, outputs, lanes] and the input with its padding. `across` are numbers. */
typedef struct {
    const Layer *layer;
    const float *error, *x;
    ptrdiff_t lanes, across; /* from row to row of x */
} Convolution;

/* Add the numbers of `samples` lanes to a sum in order. */
INLINE float add_lanes(float sum, const float *numbers, int64_t samples) {
    for (int64_t sample = 0; sample < samples; sample++)
        sum = sum + numbers[sample];
    return sum;
}

/* Add the gradients of some outputs and of taps that follow each other, for LANES samples at most, to G, whose rows are
 * `pitch` numbers apart. */
INLINE void add_block(const int outputs, const int taps, const Convolution *of, ptrdiff_t error_at, ptrdiff_t x_at,
                      int64_t samples, float *gradient, ptrdiff_t pitch) {
    const Layer *layer = of->layer;
    const float *error = of->error + error_at;
    const ptrdiff_t position = layer->outputs * of->lanes,
                    step = (ptrdiff_t)layer->stride * layer->channels * of->lanes;
    Floats sums[OUTPUTS][TAPS] = {0};
    for (int32_t y = 0; y < layer->out_height; y++) {
        const float *x = of->x + x_at + y * layer->stride * of->across;
        for (int32_t place = 0; place < layer->out_width; place++, error += position, x += step) {
            Floats values[TAPS];
            for (int tap = 0; tap < taps; tap++)
                values[tap] = load(x + tap * of->lanes);
            for (int o = 0; o < outputs; o++)
                for (int tap = 0; tap < taps; tap++)
                    sums[o][tap] += load(error + o * of->lanes) * values[tap];
        }
    }
    for (int o = 0; o < outputs; o++)
        for (int tap = 0; tap < taps; tap++)
            gradient[o * pitch + tap] = add_lanes(gradient[o * pitch + tap], (const float *)&sums[o][tap], samples);
}

INLINE void add_taps(const int outputs, const Convolution *of, ptrdiff_t error_at, ptrdiff_t x_at, int64_t samples,
                     int64_t taps, float *gradient, ptrdiff_t pitch) {
    int64_t blocks = (taps + TAPS - 1) / TAPS;
    for (; blocks > 0; blocks--) {
        int64_t some = (taps + blocks - 1) / blocks; /* even blocks */
        switch (some) {
        case 1: add_block(outputs, 1, of, error_at, x_at, samples, gradient, pitch); break;
        case 2: add_block(outputs, 2, of, error_at, x_at, samples, gradient, pitch); break;
#ifdef __AVX512F__
        case 3: add_block(outputs, 3, of, error_at, x_at, samples, gradient, pitch); break;
        case 4: add_block(outputs, 4, of, error_at, x_at, samples, gradient, pitch); break;
        default: add_block(outputs, 5, of, error_at, x_at, samples, gradient, pitch); break;
#endif
        }
        x_at += some * of->lanes;
        gradient += some;
        taps -= some;
    }
}

/* Return a copy of an input with its padding, of all places under a tap. */
static float *padded(const Layer *layer, int64_t lanes, const float *x, ptrdiff_t *across) {
    const ptrdiff_t size = layer->channels * lanes;
    ptrdiff_t height = (ptrdiff_t)(layer->out_height - 1) * layer->stride + layer->kernel_height,
              width = (ptrdiff_t)(layer->out_width - 1) * layer->stride + layer->kernel_width;
    ptrdiff_t rows = height - layer->padding, columns = width - layer->padding;
    rows = rows < layer->height ? rows : layer->height;
    columns = columns < layer->width ? columns : layer->width;
    *across = width * size;
    float *copy = calloc((size_t)(height * *across), sizeof *copy);
    for (ptrdiff_t y = 0; copy && y < rows; y++)
        memcpy(copy + (y + layer->padding) * *across + layer->padding * size, x + y * layer->width * size,
               (size_t)(columns * size) * sizeof *copy);
    return copy;
}

int float32_convolution_gradient(const Layer *layer, int64_t samples, int64_t lanes, const float *error, const float *x,
                                 float *gradient) {
    const ptrdiff_t taps = layer->kernel_width * layer->channels, pitch = layer->kernel_height * taps;
    Convolution of = {layer, error, NULL, lanes, 0};
    float *copy = padded(layer, lanes, x, &of.across);
    of.x = copy;
    for (int64_t lane = 0; copy && lane < samples; lane += LANES) {
        int64_t some = samples - lane < LANES ? samples - lane : LANES;
        for (int32_t ky = 0; ky < layer->kernel_height; ky++)
            for (int32_t output = 0; output < layer->outputs;) {
                const ptrdiff_t error_at = output * lanes + lane, x_at = ky * of.across + lane;
                float *to = gradient + output * pitch + ky * taps;
                int32_t blocks = (layer->outputs - output + OUTPUTS - 1) / OUTPUTS,
                        own = (layer->outputs - output + blocks - 1) / blocks; /* even blocks */
                switch (own) {
                case 1: add_taps(1, &of, error_at, x_at, some, taps, to, pitch); break;
                case 2: add_taps(2, &of, error_at, x_at, some, taps, to, pitch); break;
                case 3: add_taps(3, &of, error_at, x_at, some, taps, to, pitch); break;
                default: add_taps(4, &of, error_at, x_at, some, taps, to, pitch); break;
                }
                output += own;
            }
    }
    free(copy);
    return copy ? 0 : -1;
}

int float32_depthwise_gradient(const Layer *layer, int64_t samples, int64_t lanes, const float *error, const float *x,
                               float *gradient) {
    const ptrdiff_t size = layer->channels * lanes;
    ptrdiff_t across;
    float *copy = padded(layer, lanes, x, &across);
    for (int64_t lane = 0; copy && lane < samples; lane += LANES)
        for (ptrdiff_t at = 0; at < (ptrdiff_t)layer->kernel_height * layer->kernel_width * layer->channels; at++) {
            const ptrdiff_t tap = at / layer->channels, channel = at % layer->channels * lanes + lane;
            const float *under = copy + tap / layer->kernel_width * across + tap % layer->kernel_width * size + channel;
            Floats sum = {0};
            for (ptrdiff_t y = 0; y < layer->out_height; y++)
                for (ptrdiff_t place = 0; place < layer->out_width; place++)
                    sum += load(error + (y * layer->out_width + place) * size + channel) *
                           load(under + (y * across + place * size) * layer->stride);
            gradient[at] =
                add_lanes(gradient[at], (const float *)&sum, samples - lane < LANES ? samples - lane : LANES);
        }
    free(copy);
    return copy ? 0 : -1;
}

/* Here vectors are of inputs: each sample is one product, which is added to G. */
int float32_dense_gradient(int64_t inputs, int64_t outputs, int64_t samples, int64_t lanes, const float *error,
                           const float *x, float *gradient) {
    float *by_sample = malloc((size_t)(samples * inputs) * sizeof *by_sample);
    if (!by_sample)
        return -1;
    for (int64_t i = 0; i < inputs; i++)
        for (int64_t sample = 0; sample < samples; sample++)
            by_sample[sample * inputs + i] = x[i * lanes + sample];
    Run run = {error, by_sample};
    Products products = {1, (int32_t)samples, lanes, 1, inputs, &run};
    int64_t whole = inputs / LANES * LANES;
    add_products(&products, outputs, whole, gradient, inputs);
    for (int64_t output = 0; output < outputs; output++)
        for (int64_t i = whole; i < inputs; i++)
            for (int64_t sample = 0; sample < samples; sample++)
                gradient[output * inputs + i] =
                    gradient[output * inputs + i] + error[output * lanes + sample] * by_sample[sample * inputs + i];
    free(by_sample);
    return 0;
}

void float32_bias_gradient(int64_t positions, int64_t outputs, int64_t samples, int64_t lanes, const float *error,
                           float *gradient) {
    for (int64_t output = 0; output < outputs; output++)
        for (int64_t lane = 0; lane < samples; lane += LANES) {
            Floats sum = {0};
            for (int64_t position = 0; position < positions; position++)
                sum += load(error + (position * outputs + output) * lanes + lane);
            gradient[output] =
                add_lanes(gradient[output], (const float *)&sum, samples - lane < LANES ? samples - lane : LANES);
        }
}
