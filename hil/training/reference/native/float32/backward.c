/* Errors on their way through a layer (docs/arithmetic-float32.md, section 5). */
#include <stdlib.h>
#include <string.h>

#include "products.h"

static const Limits ALL = {-0x1p40f, 0x1p40f}; /* of every error */

void float32_gate(int64_t size, float low, float high, const float *error, const float *value, float *out) {
    for (int64_t at = 0; at < size; at += LANES) {
        Floats own = load(value + at);
        Masks inside = (own > all(low)) & (own < all(high));
        store(out + at, (Floats)((Masks)load(error + at) & inside));
    }
}

int float32_convolution_error(const Layer *layer, int64_t lanes, const float *weights, const float *error, float *out) {
    const ptrdiff_t channels = layer->channels, outputs = layer->outputs,
                    taps = (ptrdiff_t)layer->kernel_height * layer->kernel_width;
    Run *runs = malloc((size_t)taps * sizeof *runs);
    float *none = calloc((size_t)channels, sizeof *none); /* biases */
    int failed = !runs || !none;
    for (int32_t y = 0; !failed && y < layer->height; y++)
        for (int32_t x = 0; x < layer->width; x++, out += channels * lanes) {
            Products products = {0, layer->outputs, 1, taps * channels, lanes, runs};
            for (int32_t ky = 0; ky < layer->kernel_height; ky++)
                for (int32_t kx = 0; kx < layer->kernel_width; kx++) {
                    int32_t row = row_over(layer, y, ky), column = column_over(layer, x, kx);
                    if (row >= 0 && column >= 0)
                        runs[products.runs++] =
                            (Run){weights + (ky * layer->kernel_width + kx) * channels,
                                  error + ((ptrdiff_t)row * layer->out_width + column) * outputs * lanes};
                }
            sum_products(&products, channels, lanes, none, ALL, out, lanes);
        }
    free(none);
    free(runs);
    return failed ? -1 : 0;
}

void float32_depthwise_error(const Layer *layer, int64_t lanes, const float *weights, const float *error, float *out) {
    const ptrdiff_t size = layer->channels * lanes;
    for (int32_t y = 0; y < layer->height; y++)
        for (int32_t x = 0; x < layer->width; x++)
            for (ptrdiff_t channel = 0; channel < layer->channels; channel++)
                for (int64_t lane = 0; lane < lanes; lane += LANES, out += LANES) {
                    Floats sum = {0};
                    for (int32_t ky = 0; ky < layer->kernel_height; ky++)
                        for (int32_t kx = 0; kx < layer->kernel_width; kx++) {
                            int32_t row = row_over(layer, y, ky), column = column_over(layer, x, kx);
                            if (row >= 0 && column >= 0)
                                sum += all(weights[(ky * layer->kernel_width + kx) * layer->channels + channel]) *
                                       load(error + ((ptrdiff_t)row * layer->out_width + column) * size +
                                            channel * lanes + lane);
                        }
                    store(out, clamped(sum, ALL));
                }
}

/* Hand the errors of a window on, `count` vectors of them; rows are `row` numbers apart, places `size`. */
INLINE void unpool(const Layer *layer, ptrdiff_t row, ptrdiff_t size, const int count, const float *error,
                   const float *x, float *out) {
    Floats largest[SOME];
    Masks given[SOME];
    for (int i = 0; i < count; i++) {
        largest[i] = load(x + i * LANES);
        given[i] = (Masks)load(error + i * LANES);
    }
    for (int32_t ky = 0; ky < layer->kernel_height; ky++)
        for (int32_t kx = 0; kx < layer->kernel_width; kx++)
            for (int i = 0; i < count; i++)
                largest[i] = larger(load(x + ky * row + kx * size + i * LANES), largest[i]);
    for (int32_t ky = 0; ky < layer->kernel_height; ky++)
        for (int32_t kx = 0; kx < layer->kernel_width; kx++)
            for (int i = 0; i < count; i++) {
                const ptrdiff_t here = ky * row + kx * size + i * LANES;
                Masks chosen = load(x + here) == largest[i];
                store(out + here, (Floats)(given[i] & chosen));
                given[i] &= ~chosen; /* the first one has it */
            }
}

void float32_max_pool_error(const Layer *layer, int64_t lanes, const float *error, const float *x, float *out) {
    const ptrdiff_t size = layer->channels * lanes, row = layer->width * size;
    memset(out, 0, (size_t)(layer->height * row) * sizeof *out); /* what is in no window */
    for (int32_t y = 0; y < layer->out_height; y++)
        for (int32_t place = 0; place < layer->out_width; place++, error += size) {
            const ptrdiff_t window = y * layer->down * row + place * layer->across * size;
            ptrdiff_t at = 0;
            for (; at + SOME * LANES <= size; at += SOME * LANES)
                unpool(layer, row, size, SOME, error + at, x + window + at, out + window + at);
            for (; at < size; at += LANES)
                unpool(layer, row, size, 1, error + at, x + window + at, out + window + at);
        }
}

void float32_average_pool_error(const Layer *layer, int64_t lanes, const float *error, float *out) {
    const ptrdiff_t size = layer->channels * lanes, row = layer->width * size;
    const float count = (float)(layer->kernel_height * layer->kernel_width);
    memset(out, 0, (size_t)(layer->height * row) * sizeof *out);
    for (int32_t y = 0; y < layer->out_height; y++)
        for (int32_t place = 0; place < layer->out_width; place++)
            for (ptrdiff_t at = 0; at < size; at += LANES, error += LANES) {
                const Floats share = load(error) / count + 0.0f;
                for (int32_t ky = 0; ky < layer->kernel_height; ky++)
                    for (int32_t kx = 0; kx < layer->kernel_width; kx++)
                        store(out + (y * layer->down + ky) * row + (place * layer->across + kx) * size + at, share);
            }
}
