/* Gradients of weights and biases (docs/arithmetic-float32.md, section 5).
 *
 * The gradient of one sample is a sum over output positions; the samples of a vector are summed up side by side, and
 * then added to G one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "products.h"

enum {
    OUTPUTS = 4,
    BIASES = 16, /* at a time */
    PLACES = 32  /* output positions that are summed up at a time, at least: they stay in the cache */
};
#ifdef __AVX512F__
enum { TAPS = 5 }; /* of a block: it fits 32 registers, */
#else
enum { TAPS = 2 }; /* and 16 */
#endif

/* A convolution's gradient of the samples of one vector. */
typedef struct {
    const Layer *layer;
    const float *error, *x;  /* [positions, outputs, lanes], and the input with its padding */
    ptrdiff_t lanes, across; /* from row to row of x */
    Range rows;              /* of the output */
    Floats *sums;            /* [outputs, kh, kw, channels] */
} Convolution;

/* Add the numbers of `samples` lanes to a sum in order. */
INLINE float add_lanes(float sum, const Floats *numbers, int64_t samples) {
    for (int64_t sample = 0; sample < samples; sample++)
        sum = sum + ((const float *)numbers)[sample];
    return sum;
}

/* Go on with the sums of some outputs and of taps that follow each other. */
INLINE void add_block(const int outputs, const int taps, const Convolution *of, int32_t output, int32_t ky,
                      ptrdiff_t tap) {
    const Layer *layer = of->layer;
    const ptrdiff_t position = layer->outputs * of->lanes,
                    step = (ptrdiff_t)layer->across * layer->channels * of->lanes;
    const ptrdiff_t row = (ptrdiff_t)layer->kernel_width * layer->channels, pitch = layer->kernel_height * row;
    const float *error = of->error + (ptrdiff_t)of->rows.first * layer->out_width * position + output * of->lanes;
    Floats *kept = of->sums + output * pitch + ky * row + tap, sums[OUTPUTS][TAPS];
    for (int o = 0; o < outputs; o++)
        for (int i = 0; i < taps; i++)
            sums[o][i] = kept[o * pitch + i];
    for (int32_t y = of->rows.first; y < of->rows.end; y++) {
        const float *x = of->x + ((ptrdiff_t)y * layer->down + ky) * of->across + tap * of->lanes;
        for (int32_t place = 0; place < layer->out_width; place++, error += position, x += step) {
            Floats values[TAPS];
            for (int i = 0; i < taps; i++)
                values[i] = load(x + i * of->lanes);
            for (int o = 0; o < outputs; o++)
                for (int i = 0; i < taps; i++)
                    sums[o][i] += load(error + o * of->lanes) * values[i];
        }
    }
    for (int o = 0; o < outputs; o++)
        for (int i = 0; i < taps; i++)
            kept[o * pitch + i] = sums[o][i];
}

INLINE void add_taps(const int outputs, const Convolution *of, int32_t output, int32_t ky) {
    ptrdiff_t taps = (ptrdiff_t)of->layer->kernel_width * of->layer->channels;
    ptrdiff_t blocks = (taps + TAPS - 1) / TAPS;
    for (ptrdiff_t tap = 0; blocks > 0; blocks--) {
        ptrdiff_t some = (taps - tap + blocks - 1) / blocks; /* even blocks */
        switch (some) {
        case 1: add_block(outputs, 1, of, output, ky, tap); break;
        case 2: add_block(outputs, 2, of, output, ky, tap); break;
#ifdef __AVX512F__
        case 3: add_block(outputs, 3, of, output, ky, tap); break;
        case 4: add_block(outputs, 4, of, output, ky, tap); break;
        default: add_block(outputs, 5, of, output, ky, tap); break;
#endif
        }
        tap += some;
    }
}

static void add_outputs(const Convolution *of, int32_t ky) {
    int32_t outputs = of->layer->outputs, blocks = (outputs + OUTPUTS - 1) / OUTPUTS;
    for (int32_t output = 0; blocks > 0; blocks--) {
        int32_t some = (outputs - output + blocks - 1) / blocks;
        switch (some) {
        case 1: add_taps(1, of, output, ky); break;
        case 2: add_taps(2, of, output, ky); break;
        case 3: add_taps(3, of, output, ky); break;
        default: add_taps(4, of, output, ky); break;
        }
        output += some;
    }
}

/* Return a copy of an input with its padding, of all places under a tap. */
static float *padded(const Layer *layer, int64_t lanes, const float *x, ptrdiff_t *across) {
    const ptrdiff_t size = layer->channels * lanes;
    ptrdiff_t height = (ptrdiff_t)(layer->out_height - 1) * layer->down + layer->kernel_height,
              width = (ptrdiff_t)(layer->out_width - 1) * layer->across + layer->kernel_width;
    ptrdiff_t rows = height - layer->top, columns = width - layer->left;
    rows = rows < layer->height ? rows : layer->height;
    columns = columns < layer->width ? columns : layer->width;
    *across = width * size;
    float *copy = calloc((size_t)(height * *across), sizeof *copy);
    for (ptrdiff_t y = 0; copy && y < rows; y++)
        memcpy(copy + (y + layer->top) * *across + layer->left * size, x + y * layer->width * size,
               (size_t)(columns * size) * sizeof *copy);
    return copy;
}

int float32_convolution_gradient(const Layer *layer, int64_t samples, int64_t lanes, const float *error, const float *x,
                                 float *gradient) {
    const ptrdiff_t weights = (ptrdiff_t)layer->outputs * layer->kernel_height * layer->kernel_width * layer->channels;
    const int32_t rows = (PLACES + layer->out_width - 1) / layer->out_width;
    ptrdiff_t across;
    float *copy = padded(layer, lanes, x, &across);
    Floats *sums = malloc((size_t)weights * sizeof *sums);
    for (int64_t lane = 0; copy && sums && lane < samples; lane += LANES) {
        memset(sums, 0, (size_t)weights * sizeof *sums);
        for (int32_t y = 0; y < layer->out_height; y += rows) {
            Range some = {y, y + rows < layer->out_height ? y + rows : layer->out_height};
            for (int32_t ky = 0; ky < layer->kernel_height; ky++)
                add_outputs(&(Convolution){layer, error + lane, copy + lane, lanes, across, some, sums}, ky);
        }
        for (ptrdiff_t at = 0; at < weights; at++)
            gradient[at] = add_lanes(gradient[at], &sums[at], samples - lane < LANES ? samples - lane : LANES);
    }
    int failed = !copy || !sums;
    free(sums);
    free(copy);
    return failed ? -1 : 0;
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
                           load(under + y * layer->down * across + place * layer->across * size);
            gradient[at] = add_lanes(gradient[at], &sum, samples - lane < LANES ? samples - lane : LANES);
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
    for (int64_t first = 0; first < outputs; first += BIASES)
        for (int64_t lane = 0; lane < samples; lane += LANES) {
            const int64_t some = outputs - first < BIASES ? outputs - first : BIASES;
            Floats sums[BIASES] = {0};
            for (int64_t position = 0; position < positions; position++)
                for (int64_t o = 0; o < some; o++)
                    sums[o] += load(error + (position * outputs + first + o) * lanes + lane);
            for (int64_t o = 0; o < some; o++)
                gradient[first + o] =
                    add_lanes(gradient[first + o], &sums[o], samples - lane < LANES ? samples - lane : LANES);
        }
}
