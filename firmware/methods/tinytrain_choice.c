/* The choice of layers and of their channels: docs/arithmetic-tinytrain.md, sections 4 and 5. */
#include <string.h>

#include "arith/float32.h"
#include "methods/tinytrain.h"

/* D of a channel, as bits: numbers from 0 on are in the order of their bits. Read as bytes, because the list of
   channels is written over it. */
static uint32_t fisher_bits(const int8_t *fisher, uint32_t o) {
    uint32_t word;
    memcpy(&word, fisher + o * sizeof word, sizeof word);
    return word;
}

/* P of a layer. */
static float potential(const model_t *model, uint8_t l) {
    const int8_t *fisher = model_buffer(model, TINYTRAIN_FISHER, l);
    const uint32_t channels = graph_channels(graph_layer(&model->file, l));
    const float c = model->gradient_factor[l], square = c * c;
    float sum = 0.0f;
    for (uint32_t o = 0; o < channels; o++) {
        sum = sum + float32_from_bits(fisher_bits(fisher, o));
    }
    return square * sum;
}

static uint64_t trained_of(const model_t *model, uint8_t l) {
    return trained_count(&model->training, graph_layer(&model->file, l));
}

void tinytrain_score(const model_t *model, float scores[]) {
    const uint64_t candidates = tinytrain_candidates(&model->training);
    uint64_t most_trained = 0, most_products = 0;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint64_t trained = trained_of(model, l), products = graph_products(graph_layer(&model->file, l));
        most_trained = in_set(candidates, l) && trained > most_trained ? trained : most_trained;
        most_products = in_set(candidates, l) && products > most_products ? products : most_products;
    }
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(candidates, l)) {
            const float size = float32_of_u64(trained_of(model, l)) / float32_of_u64(most_trained);
            const uint64_t products = graph_products(graph_layer(&model->file, l));
            const float work = float32_of_u64(products) / float32_of_u64(most_products), both = size * work;
            scores[l] = potential(model, l) / both;
        }
    }
}

/* The layer of a set with the largest score, of equal ones the last. */
static uint8_t best_of(uint64_t set, const float scores[]) {
    uint8_t best = first_of_set(set);
    for (uint8_t l = best; l < GRAPH_MAX_LAYERS; l++) {
        best = in_set(set, l) && scores[l] >= scores[best] ? l : best;
    }
    return best;
}

static uint64_t chosen_layers(const model_t *model) {
    const costs_t costs = tinytrain_costs(model);
    const uint64_t most_work = tinytrain_most_work(&costs);
    uint64_t chosen = 0, bytes = 0;
    float scores[GRAPH_MAX_LAYERS];
    tinytrain_score(model, scores);
    for (uint64_t left = tinytrain_candidates(&model->training); left != 0;) {
        const uint8_t l = best_of(left, scores);
        const uint64_t layer = UINT64_C(1) << l, grown = bytes + tinytrain_bytes(&costs, l);
        if (grown <= costs.settings->memory_budget && tinytrain_work(&costs, chosen | layer) <= most_work) {
            chosen |= layer;
            bytes = grown;
        }
        left &= ~layer;
    }
    return chosen;
}

static uint32_t count_from(const int8_t *fisher, uint32_t channels, uint32_t least) {
    uint32_t count = 0;
    for (uint32_t o = 0; o < channels; o++) {
        count += fisher_bits(fisher, o) >= least;
    }
    return count;
}

/* The k-th largest D of a layer: bit by bit, the largest number that k channels reach. */
static uint32_t kth_largest(const int8_t *fisher, uint32_t channels, uint32_t k) {
    uint32_t least = 0;
    for (uint32_t bit = UINT32_C(1) << 30; bit > 0; bit >>= 1) {
        least |= count_from(fisher, channels, least | bit) >= k ? bit : 0;
    }
    return least;
}

/* Write the list of the k channels with the largest D over D: an entry lies at or before the D of its channel. */
static void list_channels(int8_t *fisher, uint32_t channels, uint32_t k) {
    const uint32_t least = kth_largest(fisher, channels, k);
    uint32_t ties = k - count_from(fisher, channels, least + 1), listed = 0; /* those of equal D that are kept */
    for (uint32_t o = 0; o < channels; o++) {
        const uint32_t word = fisher_bits(fisher, o);
        const bool tie = word == least && ties > 0;
        if (word > least || tie) {
            const uint16_t channel = (uint16_t)o;
            memcpy(fisher + listed * sizeof channel, &channel, sizeof channel);
            ties -= tie;
            listed++;
        }
    }
}

void tinytrain_choose(model_t *model) {
    const costs_t costs = tinytrain_costs(model);
    const uint64_t chosen = chosen_layers(model);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint32_t channels = graph_channels(graph_layer(&model->file, l));
        if (in_set(chosen, l) && tinytrain_channels(&costs, l) < channels) {
            list_channels(model_buffer(model, TINYTRAIN_FISHER, l), channels, tinytrain_channels(&costs, l));
        }
    }
    model->training.updated = chosen;
    model->training.first_backward = first_of_set(chosen);
    tflite8_clear_velocities(model);
}
