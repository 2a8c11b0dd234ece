/* Forward passes (docs/arithmetic-w16a8.md, section 2). Products with padding, which are 0, are left out. */
#include <stdlib.h>

#include "products.h"

const char *w16a8_name(void) {
#if defined __AVX512VNNI__
    return "C, AVX-512 VNNI";
#elif defined __AVX512BW__
    return "C, AVX-512";
#else
    return "C, AVX2";
#endif
}

int w16a8_lanes(void) {
    return LANES;
}

void w16a8_input(int64_t samples, int64_t size, int64_t lanes, const uint8_t *images, int32_t offset, int16_t *out) {
    for (int64_t i = 0; i < size; i++, out += lanes) {
        for (int64_t sample = 0; sample < samples; sample++)
            out[sample] = (int16_t)(images[sample * size + i] - offset);
        for (int64_t sample = samples; sample < lanes; sample++)
            out[sample] = 0;
    }
}

/* Write the outputs of `outputs` channels, which read `channels` channels of the input. If that is one, the input may
 * have more, and its next tap lies a pixel further. */
INLINE void convolve(const Layer *layer, int64_t lanes, int32_t channels, int32_t outputs, const int16_t *weights,
                     const int32_t *biases, const int16_t *x, Run *runs, int16_t *out) {
    const ptrdiff_t across = (ptrdiff_t)layer->kernel_width * channels, pixel = layer->channels * lanes;
    for (int32_t y = 0; y < layer->out_height; y++) {
        const int32_t top = y * layer->down - layer->top;
        const Range rows = taps_from(top, layer->kernel_height, layer->height);
        for (int32_t place = 0; place < layer->out_width; place++, out += layer->outputs * lanes) {
            const int32_t left = place * layer->across - layer->left;
            const Range columns = taps_from(left, layer->kernel_width, layer->width);
            for (int32_t ky = rows.first; ky < rows.end; ky++)
                runs[ky - rows.first] =
                    (Run){weights + ky * across + columns.first * channels,
                          x + ((ptrdiff_t)(top + ky) * layer->width + left + columns.first) * pixel};
            Products products = {rows.end - rows.first, (columns.end - columns.first) * channels,
                                 layer->kernel_height * across, channels == 1 ? pixel : lanes, runs};
            scale_products(&products, outputs, lanes, biases, layer->scaling, out);
        }
    }
}

int w16a8_convolution(const Layer *layer, int64_t lanes, const int16_t *weights, const int32_t *biases,
                      const int16_t *x, int16_t *out) {
    Run *runs = malloc((size_t)layer->kernel_height * sizeof *runs);
    if (runs)
        convolve(layer, lanes, layer->channels, layer->outputs, weights, biases, x, runs, out);
    free(runs);
    return runs ? 0 : -1;
}

/* A channel by itself is a convolution with one output, whose weights lie next to each other in a copy. */
int w16a8_depthwise(const Layer *layer, int64_t lanes, const int16_t *weights, const int32_t *biases, const int16_t *x,
                    int16_t *out) {
    const ptrdiff_t taps = (ptrdiff_t)layer->kernel_height * layer->kernel_width;
    Run *runs = malloc((size_t)layer->kernel_height * sizeof *runs);
    int16_t *own = malloc((size_t)taps * sizeof *own);
    for (ptrdiff_t channel = 0; runs && own && channel < layer->channels; channel++) {
        for (ptrdiff_t tap = 0; tap < taps; tap++)
            own[tap] = weights[tap * layer->channels + channel];
        convolve(layer, lanes, 1, 1, own, biases + channel, x + channel * lanes, runs, out + channel * lanes);
    }
    int failed = !runs || !own;
    free(own);
    free(runs);
    return failed ? -1 : 0;
}

void w16a8_max_pool(const Layer *layer, int64_t lanes, const int16_t *x, int16_t *out) {
    const ptrdiff_t pixel = layer->channels * lanes;
    for (int32_t y = 0; y < layer->out_height; y++) {
        const int32_t top = y * layer->down - layer->top;
        const Range rows = taps_from(top, layer->kernel_height, layer->height);
        for (int32_t place = 0; place < layer->out_width; place++) {
            const int32_t left = place * layer->across - layer->left;
            const Range columns = taps_from(left, layer->kernel_width, layer->width);
            for (ptrdiff_t at = 0; at < pixel; at += LANES, out += LANES) {
                Shorts largest = all_shorts(INT16_MIN);
                for (int32_t ky = rows.first; ky < rows.end; ky++)
                    for (int32_t kx = columns.first; kx < columns.end; kx++)
                        largest =
                            maximum(largest, load(x + ((ptrdiff_t)(top + ky) * layer->width + left + kx) * pixel + at));
                store(out, clamped(largest, layer->scaling.low, layer->scaling.high));
            }
        }
    }
}

/* Return the nearest integer to a mean, halves away from zero. */
INLINE int32_t mean(int32_t total, int32_t count) {
    return (total + (total < 0 ? -(count / 2) : count / 2)) / count;
}

INLINE int16_t held(int32_t value, int32_t low, int32_t high) {
    return (int16_t)(value < low ? low : value > high ? high : value);
}

void w16a8_average_pool(const Layer *layer, int64_t lanes, const int16_t *x, int16_t *out) {
    const ptrdiff_t pixel = layer->channels * lanes;
    for (int32_t y = 0; y < layer->out_height; y++) {
        const int32_t top = y * layer->down - layer->top;
        const Range rows = taps_from(top, layer->kernel_height, layer->height);
        for (int32_t place = 0; place < layer->out_width; place++) {
            const int32_t left = place * layer->across - layer->left;
            const Range columns = taps_from(left, layer->kernel_width, layer->width);
            const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
            for (ptrdiff_t at = 0; at < pixel; at++) {
                int32_t total = layer->zero * count;
                for (int32_t ky = rows.first; ky < rows.end; ky++)
                    for (int32_t kx = columns.first; kx < columns.end; kx++)
                        total += x[((ptrdiff_t)(top + ky) * layer->width + left + kx) * pixel + at];
                *out++ = held(mean(total, count) - layer->zero, layer->scaling.low, layer->scaling.high);
            }
        }
    }
}

/* Return `rescale` of any shift. */
INLINE int64_t rescaled(int64_t sum, int64_t multiplier, int32_t shift) {
    return (sum * multiplier + ((int64_t)1 << (30 - shift))) >> (31 - shift);
}

void w16a8_add(const Add *add, int64_t size, const int16_t *one, const int16_t *other, int16_t *out) {
    enum { RAISED = 1 << 20 };
    for (int64_t at = 0; at < size; at++) {
        int64_t sum = rescaled((int64_t)one[at] * RAISED, add->multipliers[0], add->shifts[0]) +
                      rescaled((int64_t)other[at] * RAISED, add->multipliers[1], add->shifts[1]);
        int64_t scaled = rescaled(sum, add->multipliers[2], add->shifts[2]);
        out[at] = (int16_t)(scaled < add->low ? add->low : scaled > add->high ? add->high : scaled);
    }
}
