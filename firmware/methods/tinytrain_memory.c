/* The buffers of TinyTrain's own: docs/arithmetic-tinytrain.md, section 8. */
#include <string.h>

#include "methods/tinytrain.h"

/* Bytes of G and V of the layers of a set. */
static uint64_t bytes_of(const costs_t *costs, uint64_t set) {
    uint64_t bytes = 0;
    for (uint8_t l = 0; l < costs->file->layers; l++) {
        bytes += in_set(set, l) ? tinytrain_bytes(costs, l) : 0;
    }
    return bytes;
}

void tinytrain_stand(plan_t *plan, const model_t *model) {
    const costs_t costs = tinytrain_costs(model);
    const uint64_t candidates = tinytrain_candidates(&model->training), all = bytes_of(&costs, candidates);
    tflite8_stand_samples(plan, model);
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(candidates, l)) {
            plan_stand(plan, plan_place(TINYTRAIN_FISHER, l),
                       sizeof(float) * (uint64_t)graph_channels(graph_layer(&model->file, l)));
        }
    }
    if (all > 0) {
        const uint32_t most = costs.settings->memory_budget;
        plan_stand(plan, TINYTRAIN_SELECTED, all < most ? all : most);
    }
}

void tinytrain_begin(model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(tinytrain_candidates(&model->training), l)) {
            memset(model_buffer(model, TINYTRAIN_FISHER, l), 0,
                   graph_channels(graph_layer(&model->file, l)) * sizeof(float));
        }
    }
}

kept_t tinytrain_kept(const model_t *model, uint8_t l) {
    const costs_t costs = tinytrain_costs(model);
    const uint32_t channels = tinytrain_channels(&costs, l);
    kept_t kept = {.channels = channels,
                   .weights = tinytrain_channel_weights(&costs, l) * channels,
                   .biases = tinytrain_channel_biases(&costs) * channels};
    if (channels < graph_channels(graph_layer(&model->file, l))) {
        kept.list = (const uint16_t *)(const void *)model_buffer(model, TINYTRAIN_FISHER, l);
    }
    if (tinytrain_bytes(&costs, l) == 0) {
        return kept;
    }
    const uint64_t before = bytes_of(&costs, model->training.updated & ((UINT64_C(1) << l) - 1));
    int32_t *place = model_s32(model, model->plan.at[TINYTRAIN_SELECTED]) + before / sizeof(int32_t);
    if (costs.settings->batch > 1) {
        kept.sum = place;
        place += kept.weights + kept.biases;
    }
    if (tflite8_has_velocities(costs.settings)) {
        kept.velocity = (float *)(void *)place;
    }
    return kept;
}
