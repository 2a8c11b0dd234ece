/* A network in tflite8 with its settings, placed in its arena. */
#ifndef GRAPH_MODEL_H
#define GRAPH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"
#include "graph/plan.h"
#include "graph/settings.h"
#include "net/observe.h"
#include "net/stopwatch.h"

/* Where the cycles of a step go: by phase, and by layer. */
typedef struct {
    uint64_t perturb, update, digest;
    uint64_t forward[GRAPH_MAX_LAYERS];  /* the loss counts to the last layer */
    uint64_t backward[GRAPH_MAX_LAYERS]; /* of a layer's gradient */
} graph_account_t;

typedef struct {
    uint8_t *arena;
    graph_file_t file;
    bool in_ram; /* the file: at the beginning of the arena; else in flash */
    graph_settings_t settings;
    graph_training_t training;
    graph_plan_t plan;
    int16_t exponent
        [GRAPH_MAX_LAYERS]; /* E of the gradient of several samples: docs/arithmetic-zeroth-order.md, section 5; of bp E + j_y */
    float factor[GRAPH_MAX_LAYERS]; /* of bp: C of the output, as it was found on the last way back */
    const observer_t *observer;     /* of every output; NULL in training */
    stopwatch_t watch;
    graph_account_t account;
    uint64_t macs, layer_runs; /* of the step or run, as the watch runs: docs/memory-graph.md, what is run */
} graph_model_t;

/* Weights and what goes with them, by output channel. Only those of a trained layer may be written. */
typedef struct {
    int8_t *weights;
    int32_t *sums; /* of the weights */
    int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    const float *scale;
} tensors_t;

tensors_t graph_tensors(const graph_model_t *model, uint8_t l);

/* Copy what is trained out of a file in flash. */
void graph_copy_trained(const graph_model_t *model);

/* Make the sums of a trained layer's weights anew. */
void graph_sum_weights(const graph_model_t *model, uint8_t l);

/* A trained tensor, as bytes: int8 weights, or int32 biases. */
typedef struct {
    uint8_t *bytes;
    uint32_t size;
    uint8_t layer;
    bool weights;
} trained_tensor_t;

/* The trained tensors, input to output: of each trained layer the weights, then the biases. Their number; and one of them. */
uint8_t graph_tensor_count(const graph_model_t *model);
trained_tensor_t graph_tensor(const graph_model_t *model, uint8_t tensor);

static inline planned_t graph_planned(const graph_model_t *model) {
    return (planned_t){
        .file = &model->file, .settings = &model->settings, .training = &model->training, .in_ram = model->in_ram};
}

static inline int8_t *graph_s8(const graph_model_t *model, uint32_t offset) {
    return (int8_t *)(model->arena + offset);
}

/* Offsets are multiples of 8, and so is the address of the arena. */
static inline int32_t *graph_s32(const graph_model_t *model, uint32_t offset) {
    return (int32_t *)(void *)(model->arena + offset);
}

static inline int8_t *graph_buffer(const graph_model_t *model, enum plan_line line, uint8_t i) {
    return graph_s8(model, model->plan.at[line][i]);
}

static inline int8_t *graph_sample(const graph_model_t *model, uint16_t slot) {
    return graph_s8(model, model->plan.samples) + slot * graph_elements(&model->file, 0);
}

static inline uint16_t *graph_labels(const graph_model_t *model) {
    return (uint16_t *)(void *)(model->arena + model->plan.labels);
}

#endif
