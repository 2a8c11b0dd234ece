/* Passes through a network, clean or with moved weights and nodes. */
#include "passes.h"
#include "loss.h"
#include "signs.h"

enum { ROOM = 16384 }; /* numbers of a value of all passes that are run at once: with its input it stays in the cache */

static ptrdiff_t larger(ptrdiff_t one, ptrdiff_t other) {
    return one > other ? one : other;
}

/* Give each value a slot whose last value is read no more when it is made; return how many there are. */
static int32_t share_slots(const Network *network, const int32_t *last_use, int32_t *slot) {
    int32_t free_from[64], slots = 0;
    for (int32_t layer = 0; layer < network->layers; layer++) {
        int32_t chosen = 0;
        while (chosen < slots && free_from[chosen] > layer)
            chosen++;
        slots = chosen == slots ? slots + 1 : slots;
        slot[layer + 1] = chosen;
        free_from[chosen] = last_use[layer + 1] + 1;
    }
    return slots;
}

void make_runner(Memory *memory, const Network *network, Runner *runner) {
    const int32_t layers = network->layers;
    *runner = (Runner){.network = network};
    runner->prepared = take(memory, (size_t)layers * sizeof *runner->prepared);
    runner->own = take(memory, (size_t)layers * sizeof *runner->own);
    runner->last_use = take(memory, (size_t)(layers + 1) * sizeof *runner->last_use);
    runner->slot = take(memory, (size_t)(layers + 1) * sizeof *runner->slot);
    if (memory->failed)
        return;
    ptrdiff_t largest = ROOM, padded = 0, channels = 0, weights = 0;
    for (int32_t layer = 0; layer < layers; layer++) {
        const Layer *its = network->layer + layer;
        prepare(memory, its, runner->prepared + layer);
        runner->last_use[layer + 1] = layer;
        for (int read = 0; read < (its->operation == ADD ? 2 : 1); read++)
            runner->last_use[its->reads[read]] = layer;
        largest = larger(largest, out_size(its));
        padded = larger(padded, padded_size(runner->prepared + layer));
        channels = larger(channels, its->channels);
        weights = larger(weights, its->weights ? weights_of(its) : 0);
    }
    runner->last_use[layers] = layers;
    runner->padded = take(memory, (size_t)(padded + SLACK) * sizeof(int16_t));
    runner->totals = take(memory, (size_t)channels * sizeof(int32_t));
    int16_t *wide = take(memory, (size_t)(weights + SLACK) * sizeof *wide);
    for (int32_t layer = 0; !memory->failed && layer < layers; layer++)
        if (network->layer[layer].weights) {
            runner->own[layer] = room_for(memory, runner->prepared + layer);
            if (memory->failed)
                return;
            widen(network->layer[layer].weights, weights_of(network->layer + layer), wide);
            arrange(runner->prepared + layer, wide, network->layer[layer].bias, runner->own[layer]);
        }
    const int32_t slots = memory->failed ? 0 : share_slots(network, runner->last_use, runner->slot);
    for (int32_t slot = 0; slot < slots; slot++)
        runner->slots[slot] = take(memory, (size_t)(largest + SLACK) * sizeof(int16_t));
}

void take_values(Memory *memory, Runner *runner) {
    for (int32_t value = 0; value <= runner->network->layers; value++)
        runner->values[value] = take(memory, (size_t)(size_of_value(runner->network, value) + SLACK) * sizeof(int16_t));
}

static void run_layer(const Runner *runner, int32_t layer, Own own, int32_t passes, Value one, Value other,
                      int16_t *out) {
    const Prepared *prepared = runner->prepared + layer;
    if (prepared->layer->operation == ADD)
        run_add(prepared, passes, one, other, out);
    else if (prepared->layer->weights)
        run_weighted(prepared, own, passes, one, runner->padded, out);
    else
        run_pool(prepared, passes, one, runner->totals, out);
}

void run_clean(Runner *runner, const uint8_t *image, int32_t value) {
    const Network *network = runner->network;
    const ptrdiff_t size = size_of_value(network, 0);
    for (ptrdiff_t at = 0; at < size; at++)
        runner->values[0][at] = (int16_t)(image[at] - network->pixel_offset);
    for (int32_t layer = 0; layer < value; layer++) {
        const int32_t *reads = network->layer[layer].reads;
        run_layer(runner, layer, runner->own[layer], 1, (Value){runner->values[reads[0]], 0},
                  (Value){runner->values[reads[1]], 0}, runner->values[layer + 1]);
    }
}

int32_t passes_at_once(const Runner *runner, int32_t layer) {
    ptrdiff_t largest = 1;
    for (; layer < runner->network->layers; layer++)
        largest = larger(largest, out_size(runner->network->layer + layer));
    return (int32_t)larger(1, ROOM / largest);
}

/* Return the weights and biases of one pass. */
static Own moved_own(const Runner *runner, const Moved *moved, int sign, const uint32_t *bits) {
    const Layer *layer = runner->network->layer + moved->layer;
    const ptrdiff_t weights = weights_of(layer);
    const int32_t *bias = layer->bias;
    if (moved->trains_weights)
        move_weights(layer->weights, weights, bits, sign, moved->weights);
    else
        widen(layer->weights, weights, moved->weights);
    if (moved->trains_bias) {
        move_biases(layer, bits, moved->trains_weights ? weights : 0, sign, moved->bias);
        bias = moved->bias;
    }
    arrange(runner->prepared + moved->layer, moved->weights, bias, moved->own);
    return moved->own;
}

static const uint32_t *bits_of(const Moved *moved, int32_t query) {
    return moved->bits + query * moved->words;
}

void run_moved(const Runner *runner, int32_t count, const Moved *moved, int sign, int32_t first, int32_t passes,
               int64_t label, float *losses, ptrdiff_t step) {
    const Network *network = runner->network;
    const int32_t layers = network->layers;
    const Moved *end = moved + count;
    Value at[65];
    for (int32_t value = 0; value <= layers; value++)
        at[value] = (Value){runner->values[value], 0};
    for (int32_t index = moved->layer; index < layers; index++) {
        const Layer *layer = network->layer + index;
        const Value one = at[layer->reads[0]], other = at[layer->reads[1]];
        const int changed = one.pass || (layer->operation == ADD && other.pass);
        const int moves = moved < end && moved->layer == index;
        const ptrdiff_t size = out_size(layer);
        int16_t *out = runner->slots[runner->slot[index + 1]];
        if (!changed && !moves)
            continue; /* the clean output */
        if (moves && !moved->by_nodes) {
            for (int32_t pass = 0; pass < passes; pass++) {
                Own own = moved_own(runner, moved, sign, bits_of(moved, first + pass));
                run_layer(runner, index, own, 1, (Value){one.numbers + pass * one.pass, 0}, other, out + pass * size);
            }
        } else if (changed) {
            run_layer(runner, index, runner->own[index], passes, one, other, out);
        }
        if (moves && moved->by_nodes)
            for (int32_t pass = 0; pass < passes; pass++)
                move_nodes(layer, changed ? out + pass * size : at[index + 1].numbers, bits_of(moved, first + pass),
                           out + pass * size);
        moved += moves;
        at[index + 1] = (Value){out, size};
    }
    for (int32_t pass = 0; pass < passes; pass++)
        losses[pass * step] = loss_of(network->layer[layers - 1].outputs, at[layers].numbers + pass * at[layers].pass,
                                      label, network->scale);
}
