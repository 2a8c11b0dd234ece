/* Gradients by nodes (docs/arithmetic-tflite.md, section 5), and sums of gradients whose exponents differ. */
#include "gradients.h"

/* Make errors of 8 bits of the sums, behind the gate; return the shift. */
static int make_errors(const Layer *layer, int64_t magnitude, const int16_t *out, int32_t *sums) {
    const ptrdiff_t size = out_size(layer);
    int bits = 0;
    while (magnitude >> bits)
        bits++;
    const int shift = bits > 7 ? bits - 7 : 0;
    const int32_t half = (1 << shift) >> 1;
    for (ptrdiff_t at = 0; at < size; at++) {
        int32_t sum = out[at] > layer->low && out[at] < layer->high ? sums[at] : 0;
        int32_t rounded = ((sum < 0 ? -sum : sum) + half) >> shift;
        rounded = shift && rounded > 127 ? 127 : rounded;
        sums[at] = sum < 0 ? -rounded : rounded;
    }
    return shift;
}

/* Put the inputs of two output positions side by side. */
static void pair_inputs(const Prepared *prepared, const int16_t *one, const int16_t *other, int16_t *restrict pairs) {
    const ptrdiff_t run = taps_of(prepared->layer) / prepared->runs;
    const ptrdiff_t pitch =
        (ptrdiff_t)(prepared->padded ? prepared->span_x : prepared->layer->width) * prepared->layer->channels;
    for (int32_t at = 0; at < prepared->runs; at++, one += pitch, other += pitch, pairs += 2 * run)
        for (ptrdiff_t tap = 0; tap < run; tap++) {
            pairs[2 * tap] = one[tap];
            pairs[2 * tap + 1] = other[tap];
        }
}

/* Add errors times inputs of two positions, [outputs, taps]. */
static void add_pair(const Layer *layer, const int32_t *one, const int32_t *other, const int16_t *pairs,
                     int32_t *gradient) {
    const ptrdiff_t taps = taps_of(layer);
    for (int32_t channel = 0; channel < layer->outputs; channel++, gradient += taps) {
        const int16_t errors[2] = {(int16_t)one[channel], (int16_t)other[channel]};
        if (!errors[0] && !errors[1])
            continue;
        const Words both = pair_of(errors);
        ptrdiff_t tap = 0;
        for (; tap + LANES <= taps; tap += LANES)
            *(Words *)(gradient + tap) = add_products(load_words(gradient + tap), (Words)load(pairs + 2 * tap), both);
        for (; tap < taps; tap++)
            gradient[tap] += errors[0] * pairs[2 * tap] + errors[1] * pairs[2 * tap + 1];
    }
}

/* Return where the windows of an output position begin. */
static const int16_t *window_at(const Prepared *prepared, const int16_t *x, ptrdiff_t position) {
    const Layer *layer = prepared->layer;
    const ptrdiff_t y = position / layer->out_width, place = position % layer->out_width;
    const ptrdiff_t width = prepared->padded ? prepared->span_x : layer->width;
    return x + (y * layer->stride_y * width + place * layer->stride_x) * layer->channels;
}

static void matrix_gradient(const Prepared *prepared, const int32_t *errors, const int16_t *x, int16_t *pairs,
                            int32_t *gradient) {
    const Layer *layer = prepared->layer;
    const ptrdiff_t positions = out_positions(layer);
    int32_t none[layer->outputs];
    memset(none, 0, sizeof none);
    for (ptrdiff_t position = 0; position < positions; position += 2) {
        const int whole = position + 1 < positions;
        const int16_t *one = window_at(prepared, x, position);
        pair_inputs(prepared, one, whole ? window_at(prepared, x, position + 1) : one, pairs);
        const int32_t *own = errors + position * layer->outputs;
        add_pair(layer, own, whole ? own + layer->outputs : none, pairs, gradient);
    }
}

static void depthwise_gradient(const Prepared *prepared, const int32_t *errors, const int16_t *x,
                               int32_t *restrict gradient) {
    const Layer *layer = prepared->layer;
    const ptrdiff_t positions = out_positions(layer), taps = taps_of(layer), channels = layer->channels;
    for (ptrdiff_t position = 0; position < positions; position++, errors += channels) {
        const int16_t *window = window_at(prepared, x, position);
        for (ptrdiff_t tap = 0; tap < taps; tap++)
            for (ptrdiff_t channel = 0; channel < channels; channel++)
                gradient[tap * channels + channel] += errors[channel] * window[prepared->taps[tap] + channel];
    }
}

int node_gradient(const Prepared *prepared, int32_t *sums, int64_t magnitude, const int16_t *x, const int16_t *out,
                  int16_t *padded, int16_t *pairs, int32_t *gradient) {
    const Layer *layer = prepared->layer;
    const ptrdiff_t weights = weights_of(layer), size = out_size(layer);
    const int shift = make_errors(layer, magnitude, out, sums);
    memset(gradient, 0, (size_t)(weights + layer->outputs) * sizeof *gradient);
    const int16_t *from =
        layer->operation == CONV2D || layer->operation == DEPTHWISE ? windows_of(prepared, x, padded) : x;
    if (layer->operation == DEPTHWISE)
        depthwise_gradient(prepared, sums, from, gradient);
    else
        matrix_gradient(prepared, sums, from, pairs, gradient);
    for (ptrdiff_t at = 0; at < size; at += layer->outputs)
        for (int32_t channel = 0; channel < layer->outputs; channel++)
            gradient[weights + channel] += sums[at + channel];
    return shift;
}

/* Return a number / 2^shift, toward zero. */
INLINE int64_t cut(int64_t number, int32_t shift) {
    if (shift >= 31)
        return 0;
    return number < 0 ? -(-number >> shift) : number >> shift;
}

void add_gradient(Trained *part, const int32_t *gradient, ptrdiff_t count, int32_t exponent) {
    if (!part->begun) {
        part->begun = 1;
        part->exponent = exponent;
        memset(part->gradient, 0, (size_t)count * sizeof *gradient);
    }
    const int32_t raised = exponent > part->exponent ? exponent : part->exponent;
    const int32_t of_sum = raised - part->exponent, of_sample = raised - exponent;
    for (ptrdiff_t at = 0; at < count; at++) {
        int64_t sum = cut(part->gradient[at], of_sum) + cut(gradient[at], of_sample);
        part->gradient[at] = (int32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
    }
    part->exponent = raised;
}
