/* A network placed in its arena, with the exponents that a sample leaves behind. */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"
#include "net/observe.h"
#include "net/plan.h"
#include "net/stopwatch.h"
#include "net/stretches.h"

#define INPUT_EXPONENT (-7) /* of a pixel: docs/network.md, check 9 */

/* Where the cycles of a step go: by phase, and forward and backward by layer. */
typedef struct {
    uint64_t perturb, update, digest;
    uint64_t forward[ENGINE_MAX_LAYERS]; /* the loss counts to the last layer */
    uint64_t backward[ENGINE_MAX_LAYERS];
} cycle_account_t;

typedef struct {
    uint8_t *arena;
    graph_file_t file; /* at the beginning of the arena */
    plan_t plan;
    uint8_t first_bp;                             /* first layer trained by back-propagation */
    bool zero_sum;                                /* the errors of a sample's logits sum to zero */
    int32_t act_exponent[ENGINE_MAX_LAYERS];      /* of each layer's output, for the last group */
    int32_t gradient_exponent[ENGINE_MAX_LAYERS]; /* E of docs/arithmetic.md, section 7 */
    const observer_t *observer;                   /* of every activation and error; NULL in training */
    bool gradient_begun;                          /* a sample has been summed into the gradients of this step */
    stopwatch_t watch;
    cycle_account_t account;
    stretches_t stretches;
} model_t;

static inline int8_t *model_s8(const model_t *model, uint32_t offset) {
    return (int8_t *)(model->arena + offset);
}

/* Offsets of int32 buffers are multiples of 8, and so is the address of the arena. */
static inline int32_t *model_s32(const model_t *model, uint32_t offset) {
    return (int32_t *)(void *)(model->arena + offset);
}

/* The words of moves_t: whatever a pass left behind lies in the same place. */
static inline uint32_t *model_noise(const model_t *model) {
    return (uint32_t *)(void *)(model->arena + model->plan.noise);
}

static inline int8_t *model_weights(const model_t *model, const graph_layer_t *layer) {
    return model_s8(model, layer->weights_offset);
}

static inline const int8_t *model_sample(const model_t *model, uint16_t slot) {
    return model_s8(model, model->plan.samples) + slot * graph_elements(&model->file, 0);
}

static inline uint16_t model_classes(const model_t *model) {
    return graph_header(&model->file)->classes;
}

static inline uint8_t *model_labels(const model_t *model) {
    return model->arena + model->plan.labels;
}

/* The layer that a trained tensor belongs to. */
static inline const graph_layer_t *model_tensor(const model_t *model, uint8_t tensor) {
    return graph_layer(&model->file, graph_weighted_layer(&model->file, tensor));
}

/* What a layer reads in the forward pass: the outputs of the layer before for a whole group, or its samples. */
static inline const int8_t *model_input(const model_t *model, uint8_t layer, const int8_t *samples) {
    return layer == 0 ? samples : model_s8(model, model->plan.layer[layer - 1].act);
}

static inline int32_t model_input_exponent(const model_t *model, uint8_t layer) {
    return layer == 0 ? INPUT_EXPONENT : model->act_exponent[layer - 1];
}

/* The logits of a member of the group that went through last. */
static inline const int8_t *model_logits(const model_t *model, uint16_t member) {
    return model_s8(model, model->plan.layer[model->file.layers - 1].act) + member * model_classes(model);
}

static inline int32_t model_logits_exponent(const model_t *model) {
    return model->act_exponent[model->file.layers - 1];
}

#endif
