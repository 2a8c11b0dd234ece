/* Poor Man's Training up to the update (docs/arithmetic-zeroth-order.md, sections 3 to 5 and 7). */
#include <stdlib.h>

#include "gradients.h"
#include "loss.h"
#include "passes.h"
#include "signs.h"

enum { DELTA_EXPONENT = -16, LAYERS = 64, QUERIES = 128 };

/* All that an estimate works with. */
typedef struct {
    Runner runner;
    const Method *method;
    Draws draws;
    Moved *moved;    /* [trained] */
    int32_t *deltas; /* [queries] */
    int32_t *sums, *gradient;
    int16_t *pairs;
} Estimate;

const char *tflite8_name(void) {
#if defined __AVX512VNNI__
    return "C, AVX-512 VNNI";
#elif defined __AVX512BW__
    return "C, AVX-512";
#else
    return "C, AVX2";
#endif
}

static void take_moved(Memory *memory, Estimate *estimate, const Trained *part, Moved *moved) {
    const Layer *layer = estimate->runner.network->layer + part->layer;
    const ptrdiff_t weights = weights_of(layer);
    *moved = (Moved){.layer = part->layer,
                     .by_nodes = part->by_nodes,
                     .trains_weights = part->trains_weights,
                     .trains_bias = part->trains_bias};
    moved->draws = part->by_nodes ? out_size(layer)
                                  : (part->trains_weights ? weights : 0) + (part->trains_bias ? layer->outputs : 0);
    moved->words = words_of(moved->draws);
    moved->bits = take(memory, (size_t)estimate->method->queries * (size_t)moved->words * sizeof *moved->bits);
    moved->weights = take(memory, (size_t)(weights + SLACK) * sizeof *moved->weights);
    moved->bias = take(memory, (size_t)layer->outputs * sizeof *moved->bias);
    moved->own = room_for(memory, estimate->runner.prepared + part->layer);
}

static void make_estimate(Memory *memory, const Network *network, const Method *method, Estimate *estimate) {
    ptrdiff_t coordinates = 0, taps = 0, draws = 0;
    make_runner(memory, network, &estimate->runner);
    take_values(memory, &estimate->runner);
    estimate->method = method;
    make_draws(&estimate->draws);
    estimate->moved = take(memory, (size_t)method->trained * sizeof *estimate->moved);
    for (int32_t index = 0; !memory->failed && index < method->trained; index++) {
        const Layer *layer = network->layer + method->part[index].layer;
        const ptrdiff_t all = weights_of(layer) + layer->outputs;
        take_moved(memory, estimate, method->part + index, estimate->moved + index);
        coordinates = all > coordinates ? all : coordinates;
        taps = taps_of(layer) > taps ? taps_of(layer) : taps;
        draws = estimate->moved[index].draws > draws ? estimate->moved[index].draws : draws;
    }
    estimate->deltas = take(memory, (size_t)method->queries * sizeof *estimate->deltas);
    estimate->sums = take(memory, (size_t)draws * sizeof *estimate->sums);
    estimate->gradient = take(memory, (size_t)coordinates * sizeof *estimate->gradient);
    estimate->pairs = take(memory, (size_t)(2 * taps + SLACK) * sizeof *estimate->pairs);
}

/* Add what a trained layer learns from the queries of a sample. */
static void learn(const Estimate *estimate, const Moved *moved, int64_t magnitude, Trained *part) {
    const Runner *runner = &estimate->runner;
    const Layer *layer = runner->network->layer + moved->layer;
    const ptrdiff_t weights = weights_of(layer);
    signed_sums(estimate->method->queries, estimate->deltas, moved->bits, moved->words, moved->draws, estimate->sums);
    if (!moved->by_nodes) {
        add_gradient(part, estimate->sums, moved->draws, DELTA_EXPONENT);
        return;
    }
    const int shift =
        node_gradient(runner->prepared + moved->layer, estimate->sums, magnitude, runner->values[layer->reads[0]],
                      runner->values[moved->layer + 1], runner->padded, estimate->pairs, estimate->gradient);
    add_gradient(part, estimate->gradient + (part->trains_weights ? 0 : weights),
                 (part->trains_weights ? weights : 0) + (part->trains_bias ? layer->outputs : 0),
                 DELTA_EXPONENT + shift);
}

/* Run all queries of layers that are moved together; return the losses' end. */
static float *query(Estimate *estimate, int32_t first, int32_t count, uint32_t number, int64_t label, float clean,
                    float *losses) {
    const Method *method = estimate->method;
    Moved *moved = estimate->moved + first;
    for (int32_t index = 0; index < count; index++)
        for (int32_t q = 0; q < method->queries; q++) {
            uint32_t stream = (number * LAYERS + (uint32_t)moved[index].layer) * QUERIES + (uint32_t)q;
            draw(&estimate->draws, start(method->seed, method->step, 1 + stream), moved[index].draws,
                 moved[index].bits + q * moved[index].words);
        }
    const int signs = method->central ? 2 : 1;
    const int32_t at_once = passes_at_once(&estimate->runner, moved->layer);
    for (int32_t q = 0; q < method->queries; q += at_once)
        for (int side = 0; side < signs; side++)
            run_moved(&estimate->runner, count, moved, side ? -1 : 1, q,
                      method->queries - q < at_once ? method->queries - q : at_once, label, losses + q * signs + side,
                      signs);
    int64_t magnitude = 0;
    for (int32_t q = 0; q < method->queries; q++, losses += signs) {
        int32_t delta = delta_of(method->central ? (losses[0] - losses[1]) * 0.5f : losses[0] - clean);
        estimate->deltas[q] = delta;
        magnitude += delta < 0 ? -delta : delta;
    }
    for (int32_t index = 0; index < count; index++)
        learn(estimate, moved + index, magnitude, method->part + first + index);
    return losses;
}

static void estimate_samples(Estimate *estimate, int64_t samples, int64_t first, const uint8_t *images,
                             const int64_t *labels, float *clean, float *losses) {
    const Network *network = estimate->runner.network;
    const Method *method = estimate->method;
    const ptrdiff_t size = size_of_value(network, 0);
    const int32_t group = method->model_wise ? method->trained : 1;
    for (int64_t sample = 0; sample < samples; sample++) {
        const uint32_t number = method->one_direction ? 0 : (uint32_t)(first + sample);
        run_clean(&estimate->runner, images + sample * size, network->layers);
        clean[sample] = loss_of(network->layer[network->layers - 1].outputs, estimate->runner.values[network->layers],
                                labels[sample], network->scale);
        for (int32_t index = 0; index < method->trained; index += group)
            losses = query(estimate, index, group, number, labels[sample], clean[sample], losses);
    }
}

int tflite8_estimate(const Network *network, const Method *method, int64_t samples, int64_t first,
                     const uint8_t *images, const int64_t *labels, float *clean, float *losses) {
    Memory memory = {0};
    Estimate *estimate = take(&memory, sizeof *estimate);
    if (estimate)
        make_estimate(&memory, network, method, estimate);
    if (!memory.failed)
        estimate_samples(estimate, samples, first, images, labels, clean, losses);
    free_all(&memory);
    return memory.failed ? -1 : 0;
}

int tflite8_outputs(const Network *network, int64_t samples, const uint8_t *images, int32_t value, int16_t *out) {
    Memory memory = {0};
    Runner *runner = take(&memory, sizeof *runner);
    if (runner) {
        make_runner(&memory, network, runner);
        take_values(&memory, runner);
    }
    const ptrdiff_t size = size_of_value(network, 0), numbers = size_of_value(network, value);
    for (int64_t sample = 0; !memory.failed && sample < samples; sample++, out += numbers) {
        run_clean(runner, images + sample * size, value);
        memcpy(out, runner->values[value], (size_t)numbers * sizeof *out);
    }
    free_all(&memory);
    return memory.failed ? -1 : 0;
}
