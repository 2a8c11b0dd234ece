/* TinyTrain ranks layers and channels by Fisher information, and trains some: docs/arithmetic-tinytrain.md. */
#pragma once

#include "methods/tflite8_methods.h"

/* D of the channels of a candidate; of a chosen layer, after the choice, the list of its kept channels, as uint16_t. */
#define TINYTRAIN_FISHER PLAN_OWN
/* G and V of what is chosen. */
#define TINYTRAIN_SELECTED PLAN_METHOD

/* tinytrain_costs.c: what a choice costs, sections 4 and 5. It is known before any sample. */

typedef struct {
    const tflite8_settings_t *settings;
    const graph_file_t *file;
    const training_t *training;
} costs_t;

static inline costs_t tinytrain_costs(const model_t *model) {
    return (costs_t){.settings = tflite8_settings(model), .file = &model->file, .training = &model->training};
}

/* The trained layers that are reached, as a set. */
static inline uint64_t tinytrain_candidates(const training_t *training) {
    return training->layers & training->reached;
}

/* Of a layer, if it is chosen: k, the channels that are kept; the weights and biases of one channel that are trained;
   b, bytes of gradients and velocities. */
uint32_t tinytrain_channels(const costs_t *costs, uint8_t l);
uint32_t tinytrain_channel_weights(const costs_t *costs, uint8_t l);
uint32_t tinytrain_channel_biases(const costs_t *costs);
uint64_t tinytrain_bytes(const costs_t *costs, uint8_t l);

/* W of a set of layers, which is not empty: products of a backward pass; and the most that the settings allow. */
uint64_t tinytrain_work(const costs_t *costs, uint64_t set);
uint64_t tinytrain_most_work(const costs_t *costs);

/* The candidates of which each by itself fits the memory budget; and the least W of a layer of a set. */
uint64_t tinytrain_fitting(const costs_t *costs);
uint64_t tinytrain_least_work(const costs_t *costs, uint64_t set);

/* tinytrain_memory.c: the functions `stand` and `begin`, section 8. */
void tinytrain_stand(plan_t *plan, const model_t *model);
void tinytrain_begin(model_t *model);

/* tinytrain_choice.c: sections 4 and 5. */

/* Write the scores of the candidates, by layer. */
void tinytrain_score(const model_t *model, float scores[]);

/* Choose layers by their scores within the budgets, and their channels. */
void tinytrain_choose(model_t *model);
