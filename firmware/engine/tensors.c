/* What is trained, and where it is in memory. */
#include <stddef.h>
#include <string.h>

#include "engine/format.h"

/* A file in RAM is written in place; what is trained of a file in flash was copied. */
int8_t *model_weights(const model_t *model, uint8_t l) {
    const uint32_t copied = plan_at(&model->plan, PLAN_WEIGHTS, l);
    return copied != PLAN_NOWHERE ? model_s8(model, copied)
                                  : (int8_t *)(uintptr_t)graph_weights(&model->file, graph_layer(&model->file, l));
}

/* Those in the file. */
static const int32_t *file_biases(const model_t *model, uint8_t l) {
    const uint32_t parameters = graph_layer(&model->file, l)->parameters_offset;
    return (const int32_t *)(const void *)(model->file.bytes + parameters + model->format->bias_offset);
}

int32_t *model_biases(const model_t *model, uint8_t l) {
    const uint32_t copied = plan_at(&model->plan, PLAN_BIASES, l);
    return copied != PLAN_NOWHERE ? model_s32(model, copied) : (int32_t *)(uintptr_t)file_biases(model, l);
}

void model_rewritten(const model_t *model, uint8_t l) {
    if (model->format->rewritten != NULL) {
        model->format->rewritten(model, l);
    }
}

void model_copy_trained(const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (plan_at(&model->plan, PLAN_WEIGHTS, l) != PLAN_NOWHERE) {
            memcpy(model_weights(model, l), graph_weights(&model->file, layer),
                   graph_weight_bytes(&model->file, layer));
            model_rewritten(model, l);
        }
        if (plan_at(&model->plan, PLAN_BIASES, l) != PLAN_NOWHERE) {
            memcpy(model_biases(model, l), file_biases(model, l), graph_channels(layer) * sizeof(int32_t));
        }
    }
}

bool may_be_s8(const model_t *model, uint8_t l, bool weights, const uint8_t *value) {
    (void)model;
    (void)l;
    return !weights || (int8_t)*value != INT8_MIN;
}

uint8_t model_tensors(const model_t *model) {
    const training_t *training = &model->training;
    return (uint8_t)(__builtin_popcountll(training->layers) * (training->weights + training->biases));
}

trained_tensor_t model_tensor(const model_t *model, uint8_t tensor) {
    const training_t *training = &model->training;
    const uint8_t each = (uint8_t)(training->weights + training->biases);
    uint64_t left = training->layers;
    for (uint8_t before = tensor / each; before > 0; before--) {
        left &= left - 1; /* without its first */
    }
    const uint8_t l = first_of_set(left);
    const graph_layer_t *layer = graph_layer(&model->file, l);
    if (training->weights && tensor % each == 0) {
        return (trained_tensor_t){.bytes = (uint8_t *)model_weights(model, l),
                                  .size = graph_weight_bytes(&model->file, layer),
                                  .layer = l,
                                  .weights = true};
    }
    return (trained_tensor_t){.bytes = (uint8_t *)model_biases(model, l),
                              .size = graph_channels(layer) * (uint32_t)sizeof(int32_t),
                              .layer = l};
}
