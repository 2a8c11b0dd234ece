/* Pools and adds (docs/arithmetic-tflite.md, section 4; docs/arithmetic-zeroth-order.md, section 1). */
#include "../windows.h"
#include "kernels.h"

INLINE int16_t held(const Layer *layer, int32_t value) {
    return (int16_t)(value < layer->low ? layer->low : value > layer->high ? layer->high : value);
}

/* Return the nearest integer to a mean, halves away from zero. */
INLINE int32_t mean(int32_t total, int32_t count) {
    return (total + (total < 0 ? -(count / 2) : count / 2)) / count;
}

/* Write the channels of one output position of windows that have these taps of the input. */
static void largest(const Layer *layer, Range rows, Range columns, const int16_t *x, int16_t *restrict out) {
    const ptrdiff_t channels = layer->channels;
    for (ptrdiff_t c = 0; c < channels; c++)
        out[c] = INT16_MIN;
    for (int32_t y = rows.first; y < rows.end; y++)
        for (int32_t place = columns.first; place < columns.end; place++) {
            const int16_t *own = x + ((ptrdiff_t)y * layer->width + place) * channels;
            for (ptrdiff_t c = 0; c < channels; c++)
                out[c] = own[c] > out[c] ? own[c] : out[c];
        }
    for (ptrdiff_t c = 0; c < channels; c++)
        out[c] = held(layer, out[c]);
}

static void average(const Layer *layer, Range rows, Range columns, const int16_t *x, int32_t *restrict totals,
                    int16_t *restrict out) {
    const ptrdiff_t channels = layer->channels;
    const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
    for (ptrdiff_t c = 0; c < channels; c++)
        totals[c] = layer->zero * count;
    for (int32_t y = rows.first; y < rows.end; y++)
        for (int32_t place = columns.first; place < columns.end; place++) {
            const int16_t *own = x + ((ptrdiff_t)y * layer->width + place) * channels;
            for (ptrdiff_t c = 0; c < channels; c++)
                totals[c] += own[c];
        }
    for (ptrdiff_t c = 0; c < channels; c++)
        out[c] = held(layer, mean(totals[c], count) - layer->zero);
}

void run_pool(const Prepared *prepared, int32_t passes, Value x, int32_t *totals, int16_t *out) {
    const Layer *layer = prepared->layer;
    for (int32_t pass = 0; pass < passes; pass++)
        for (int32_t y = 0; y < layer->out_height; y++) {
            const int32_t top = y * layer->stride_y - layer->padding_y;
            const Range rows = taps_from(top, layer->kernel_height, layer->height);
            for (int32_t place = 0; place < layer->out_width; place++, out += layer->channels) {
                const int32_t left = place * layer->stride_x - layer->padding_x;
                const Range columns = taps_from(left, layer->kernel_width, layer->width);
                const Range inside = {top + rows.first, top + rows.end},
                            of = {left + columns.first, left + columns.end};
                if (layer->operation == MAX_POOL)
                    largest(layer, inside, of, x.numbers + pass * x.pass, out);
                else
                    average(layer, inside, of, x.numbers + pass * x.pass, totals, out);
            }
        }
}

/* Return LANES outputs of an add; `single` takes twice the sums (prepared.c). Sums lie within 2^30. */
INLINE Words sum_of(const Prepared *prepared, const int form, const int16_t *one, const int16_t *other) {
    const Factors *factors = prepared->factors;
    const int32_t rounding = prepared->layer->rounding, raised = form == ANY_SINGLE ? 21 : 20;
    Words a = widened(one) << raised, b = widened(other) << raised;
    a = rescaled(a, factors, form, rounding);
    b = rescaled(b, factors + 1, form, rounding);
    return rescaled((a + b) << (raised - 20), factors + 2, form, rounding);
}

INLINE void add_as(const Prepared *prepared, const int form, const int16_t *one, const int16_t *other, int16_t *out) {
    const Layer *layer = prepared->layer;
    const ptrdiff_t size = out_size(layer);
    const Shorts low = all_shorts(layer->low), high = all_shorts(layer->high);
    for (ptrdiff_t at = 0; at < size; at += LANES) {
        Words sum = sum_of(prepared, form, one + at, other + at);
        store_half(out + at, clamped(packed_half(sum), low, high), size - at);
    }
}

void run_add(const Prepared *prepared, int32_t passes, Value one, Value other, int16_t *out) {
    for (int32_t pass = 0; pass < passes; pass++, out += out_size(prepared->layer)) {
        const int16_t *x = one.numbers + pass * one.pass, *y = other.numbers + pass * other.pass;
        if (prepared->form == ANY_SINGLE)
            add_as(prepared, ANY_SINGLE, x, y, out);
        else
            add_as(prepared, ANY_DOUBLE, x, y, out);
    }
}
