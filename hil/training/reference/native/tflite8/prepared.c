/* Layers, weights and biases as the kernels read them. */
#include "prepared.h"

enum { PAIR = 2 };

/* Where an output channel lies. */
typedef struct {
    int32_t vector; /* the first of its block */
    int32_t vectors, inside, lane;
} Place;

static Place place_of(const Prepared *prepared, int32_t channel) {
    int32_t vector = channel / SHORTS * 2, own = channel % SHORTS;
    if (vectors_of(prepared, vector) == 1)
        return (Place){vector, 1, 0, own};
    return (Place){vector, 2, own >> 2 & 1, (own & 3) | (own >> 3) << 2};
}

static void prepare_add(Memory *memory, const Layer *layer, Prepared *prepared) {
    prepared->factors = take(memory, 3 * sizeof *prepared->factors);
    prepared->form = layer->rounding == SINGLE ? ANY_SINGLE : ANY_DOUBLE;
    /* `single` has twice the sums, so that a shift of 0 becomes one to the right */
    int32_t lower = layer->rounding == SINGLE;
    for (int i = 0; prepared->factors && i < 3; i++)
        for (int lane = 0; lane < LANES; lane++)
            set_factor(prepared->factors + i, lane, prepared->form, layer->multipliers[i], layer->shifts[i] - lower);
}

void prepare(Memory *memory, const Layer *layer, Prepared *prepared) {
    *prepared = (Prepared){.layer = layer};
    prepared->span_y = (layer->out_height - 1) * layer->stride_y + layer->kernel_height;
    prepared->span_x = (layer->out_width - 1) * layer->stride_x + layer->kernel_width;
    prepared->padded = layer->padding_y > 0 || layer->padding_x > 0 || prepared->span_y > layer->height ||
                       prepared->span_x > layer->width;
    if (layer->operation == ADD)
        prepare_add(memory, layer, prepared);
    if (!layer->weights)
        return;
    prepared->vectors = (layer->outputs + LANES - 1) / LANES;
    prepared->form = rescale_form(layer->rounding, layer->outputs, layer->shift);
    prepared->factors = take(memory, (size_t)prepared->vectors * sizeof *prepared->factors);
    int32_t window = layer->kernel_height * layer->kernel_width;
    int whole = layer->operation == FULLY_CONNECTED || layer->operation == POINTWISE;
    prepared->runs = layer->operation == CONV2D ? layer->kernel_height : 1;
    int32_t run = whole ? layer->channels : layer->operation == CONV2D ? layer->kernel_width * layer->channels : window;
    prepared->pairs = (run + 1) / PAIR;
    if (layer->operation == DEPTHWISE)
        prepared->taps = take(memory, (size_t)prepared->pairs * PAIR * sizeof *prepared->taps);
    if (memory->failed)
        return;
    for (int32_t channel = 0; channel < layer->outputs; channel++) {
        Place place = place_of(prepared, channel);
        set_factor(prepared->factors + place.vector + place.inside, place.lane, prepared->form,
                   layer->multiplier[channel], layer->shift[channel]);
    }
    int32_t width = prepared->padded ? prepared->span_x : layer->width;
    for (int32_t tap = 0; prepared->taps && tap < window; tap++)
        prepared->taps[tap] =
            ((ptrdiff_t)(tap / layer->kernel_width) * width + tap % layer->kernel_width) * layer->channels;
}

Own room_for(Memory *memory, const Prepared *prepared) {
    size_t own = (size_t)prepared->vectors * (size_t)prepared->runs * (size_t)prepared->pairs * PAIR * LANES;
    return (Own){take(memory, (own + SLACK) * sizeof(int16_t)),
                 take(memory, (size_t)prepared->vectors * LANES * sizeof(int32_t))};
}

void widen(const int8_t *from, ptrdiff_t count, int16_t *restrict to) {
    for (ptrdiff_t i = 0; i < count; i++)
        to[i] = from[i];
}

/* A pair of neighbouring taps of a channel is one word. */
static void arrange_matrix(const Prepared *prepared, const int16_t *weights, int16_t *to) {
    const Layer *layer = prepared->layer;
    const ptrdiff_t of_vector = (ptrdiff_t)prepared->runs * prepared->pairs;
    const ptrdiff_t run = taps_of(layer) / prepared->runs;
    for (int32_t channel = 0; channel < layer->outputs; channel++) {
        Place place = place_of(prepared, channel);
        int16_t *own = to + (place.vector * of_vector * LANES + place.inside * LANES + place.lane) * PAIR;
        const ptrdiff_t step = (ptrdiff_t)place.vectors * LANES * PAIR;
        for (int32_t at = 0; at < prepared->runs; at++, weights += run) {
            for (ptrdiff_t tap = 0; tap + PAIR <= run; tap += PAIR, own += step)
                memcpy(own, weights + tap, PAIR * sizeof *own);
            if (run % PAIR) {
                *own = weights[run - 1]; /* the other one stays 0 */
                own += step;
            }
        }
    }
}

static void arrange_depthwise(const Prepared *prepared, const int16_t *weights, int16_t *to) {
    const Layer *layer = prepared->layer;
    const int32_t taps = layer->kernel_height * layer->kernel_width;
    for (int32_t vector = 0; vector < prepared->vectors; vector += 2)
        for (int32_t tap = 0; tap < taps; tap += PAIR) {
            const int16_t *own = weights + (ptrdiff_t)tap * layer->channels + vector * LANES;
            Shorts one = load(own), other = tap + 1 < taps ? load(own + layer->channels) : (Shorts){0};
            if (vectors_of(prepared, vector) == 2) {
                Pairs pairs = paired(one, other);
                memcpy(to, &pairs, sizeof pairs);
                to += 2 * SHORTS;
            } else {
                Words pairs = paired_half(one, other);
                memcpy(to, &pairs, sizeof pairs);
                to += SHORTS;
            }
        }
}

void arrange(const Prepared *prepared, const int16_t *weights, const int32_t *bias, Own own) {
    if (prepared->layer->operation == DEPTHWISE)
        arrange_depthwise(prepared, weights, own.weights);
    else
        arrange_matrix(prepared, weights, own.weights);
    for (int32_t channel = 0; channel < prepared->layer->outputs; channel++) {
        Place place = place_of(prepared, channel);
        own.bias[(place.vector + place.inside) * LANES + place.lane] = bias[channel];
    }
}
