/* Forward passes (docs/arithmetic-float32.md, sections 2 and 3). Products with padding, which are 0, are left out. */
#include <math.h>
#include <stdlib.h>

#include "products.h"

const char *float32_name(void) {
#ifdef __AVX512F__
    return "C, AVX-512";
#else
    return "C, AVX2";
#endif
}

int float32_lanes(void) {
    return LANES;
}

void float32_input(int64_t samples, int64_t size, int64_t lanes, const uint8_t *images, float scale, float offset,
                   float *out) {
    for (int64_t i = 0; i < size; i++, out += lanes) {
        for (int64_t sample = 0; sample < samples; sample++)
            out[sample] = scale * ((float)images[sample * size + i] - offset);
        for (int64_t sample = samples; sample < lanes; sample++)
            out[sample] = 0;
    }
}

int float32_convolution(const Layer *layer, int64_t lanes, const float *weights, const float *biases, const float *x,
                        float *out) {
    const ptrdiff_t channels = layer->channels, across = layer->kernel_width * channels;
    Run *runs = malloc((size_t)layer->kernel_height * sizeof *runs);
    if (!runs)
        return -1;
    for (int32_t y = 0; y < layer->out_height; y++) {
        Range rows = rows_inside(layer, y);
        for (int32_t place = 0; place < layer->out_width; place++, out += layer->outputs * lanes) {
            Range columns = columns_inside(layer, place);
            const ptrdiff_t left = place * layer->across - layer->left + columns.first;
            for (int32_t ky = rows.first; ky < rows.end; ky++) {
                ptrdiff_t row = y * layer->down - layer->top + ky;
                runs[ky - rows.first] = (Run){weights + ky * across + columns.first * channels,
                                              x + (row * layer->width + left) * channels * lanes};
            }
            Products products = {rows.end - rows.first,
                                 (int32_t)((columns.end - columns.first) * channels),
                                 layer->kernel_height * across,
                                 1,
                                 lanes,
                                 runs};
            sum_products(&products, layer->outputs, lanes, biases, layer->limits, out, lanes);
        }
    }
    free(runs);
    return 0;
}

void float32_depthwise(const Layer *layer, int64_t lanes, const float *weights, const float *biases, const float *x,
                       float *out) {
    const ptrdiff_t channels = layer->channels;
    for (int32_t y = 0; y < layer->out_height; y++) {
        Range rows = rows_inside(layer, y);
        for (int32_t place = 0; place < layer->out_width; place++) {
            Range columns = columns_inside(layer, place);
            const ptrdiff_t top = y * layer->down - layer->top, left = place * layer->across - layer->left;
            for (ptrdiff_t channel = 0; channel < channels; channel++, out += lanes)
                for (int64_t lane = 0; lane < lanes; lane += LANES) {
                    Floats sum = {0};
                    for (int32_t ky = rows.first; ky < rows.end; ky++)
                        for (int32_t kx = columns.first; kx < columns.end; kx++) {
                            ptrdiff_t at = ((top + ky) * layer->width + left + kx) * channels + channel;
                            sum += all(weights[(ky * layer->kernel_width + kx) * channels + channel]) *
                                   load(x + at * lanes + lane);
                        }
                    store(out + lane, clamped(sum + biases[channel], layer->limits));
                }
        }
    }
}

/* Reduce a window to its largest numbers, or to its means, of `count` vectors. `x` is where tap (0, 0) would be; rows
 * are `row` numbers apart, places `size`. */
INLINE void pool_window(const int mean, const Layer *layer, Range rows, Range columns, ptrdiff_t row, ptrdiff_t size,
                        const int count, const float *x, float *out) {
    const float inside = (float)((rows.end - rows.first) * (columns.end - columns.first));
    Floats found[SOME];
    for (int i = 0; i < count; i++)
        found[i] = all(mean ? 0.0f : -INFINITY);
    for (int32_t ky = rows.first; ky < rows.end; ky++)
        for (int32_t kx = columns.first; kx < columns.end; kx++)
            for (int i = 0; i < count; i++) {
                Floats other = load(x + ky * row + kx * size + i * LANES);
                if (mean)
                    found[i] += other;
                else
                    found[i] = larger(other, found[i]);
            }
    for (int i = 0; i < count; i++) {
        if (mean)
            found[i] = found[i] / inside + 0.0f;
        store(out + i * LANES, clamped(found[i], layer->limits));
    }
}

INLINE void pool(const int mean, const Layer *layer, int64_t lanes, const float *x, float *out) {
    const ptrdiff_t size = layer->channels * lanes, row = layer->width * size;
    for (int32_t y = 0; y < layer->out_height; y++) {
        Range rows = rows_inside(layer, y);
        for (int32_t place = 0; place < layer->out_width; place++, out += size) {
            Range columns = columns_inside(layer, place);
            const ptrdiff_t window =
                (y * layer->down - layer->top) * row + (place * layer->across - layer->left) * size;
            ptrdiff_t at = 0;
            for (; at + SOME * LANES <= size; at += SOME * LANES)
                pool_window(mean, layer, rows, columns, row, size, SOME, x + window + at, out + at);
            for (; at < size; at += LANES)
                pool_window(mean, layer, rows, columns, row, size, 1, x + window + at, out + at);
        }
    }
}

void float32_max_pool(const Layer *layer, int64_t lanes, const float *x, float *out) {
    pool(0, layer, lanes, x, out);
}

void float32_average_pool(const Layer *layer, int64_t lanes, const float *x, float *out) {
    pool(1, layer, lanes, x, out);
}

void float32_add(int64_t size, float low, float high, const float *one, const float *other, float *out) {
    for (int64_t at = 0; at < size; at += LANES)
        store(out + at, clamped(load(one + at) + load(other + at), (Limits){low, high}));
}
