/* What a choice of layers costs in memory and products: docs/arithmetic-tinytrain.md, sections 4 and 5. */
#include "methods/tinytrain.h"

enum { WHOLE = 256 }; /* shares are in parts of it */

static bool keeps_all(const costs_t *costs, uint8_t l) {
    return graph_layer(costs->file, l)->op == OP_DEPTHWISE || tflite8_is_last_with_weights(costs->file, l);
}

uint32_t tinytrain_channels(const costs_t *costs, uint8_t l) {
    const uint32_t all = graph_channels(graph_layer(costs->file, l)), kept = all * costs->settings->channels / WHOLE;
    if (keeps_all(costs, l)) {
        return all;
    }
    return kept > 0 ? kept : 1;
}

uint32_t tinytrain_channel_weights(const costs_t *costs, uint8_t l) {
    return costs->training->weights ? graph_taps(graph_layer(costs->file, l)) : 0;
}

uint32_t tinytrain_channel_biases(const costs_t *costs) {
    return costs->training->biases ? 1 : 0;
}

uint64_t tinytrain_bytes(const costs_t *costs, uint8_t l) {
    const uint32_t sums = costs->settings->batch > 1 ? sizeof(int32_t) : 0,
                   velocities = tflite8_has_velocities(costs->settings) ? sizeof(float) : 0;
    const uint64_t each = (uint64_t)tinytrain_channel_weights(costs, l) + tinytrain_channel_biases(costs);
    return tinytrain_channels(costs, l) * each * (sums + velocities);
}

/* E: the layers with weights that pass an error on, where `first` is the first trained one. */
static uint64_t error_products(const costs_t *costs, uint8_t first) {
    uint64_t products = 0;
    for (uint8_t l = (uint8_t)(first + 1); l < costs->file->layers; l++) {
        const graph_layer_t *layer = graph_layer(costs->file, l);
        products += in_set(costs->training->reached, l) && layer->reads[0] > first ? graph_products(layer) : 0;
    }
    return products;
}

uint64_t tinytrain_work(const costs_t *costs, uint64_t set) {
    uint64_t work = error_products(costs, first_of_set(set));
    for (uint8_t l = 0; l < costs->file->layers; l++) {
        const graph_layer_t *layer = graph_layer(costs->file, l);
        if (in_set(set, l)) {
            const uint64_t weights = (uint64_t)tinytrain_channels(costs, l) * tinytrain_channel_weights(costs, l);
            work += weights * layer->out_h * layer->out_w;
        }
    }
    return work;
}

uint64_t tinytrain_fitting(const costs_t *costs) {
    uint64_t fitting = 0;
    for (uint8_t l = 0; l < costs->file->layers; l++) {
        const bool fits = in_set(tinytrain_candidates(costs->training), l) &&
                          tinytrain_bytes(costs, l) <= costs->settings->memory_budget;
        fitting |= (uint64_t)fits << l;
    }
    return fitting;
}

uint64_t tinytrain_least_work(const costs_t *costs, uint64_t set) {
    uint64_t least = UINT64_MAX;
    for (uint8_t l = 0; l < costs->file->layers; l++) {
        const uint64_t work = in_set(set, l) ? tinytrain_work(costs, UINT64_C(1) << l) : UINT64_MAX;
        least = work < least ? work : least;
    }
    return least;
}

uint64_t tinytrain_most_work(const costs_t *costs) {
    const uint64_t candidates = tinytrain_candidates(costs->training);
    uint64_t whole = error_products(costs, first_of_set(candidates));
    for (uint8_t l = 0; l < costs->file->layers; l++) {
        const bool counts = costs->training->weights && in_set(candidates, l);
        whole += counts ? graph_products(graph_layer(costs->file, l)) : 0;
    }
    return whole * costs->settings->work_budget / WHOLE;
}
