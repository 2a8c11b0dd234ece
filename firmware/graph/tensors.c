#include <string.h>

#include "graph/model.h"

/* A file in RAM is written in place; what is trained of a file in flash was copied. */
tensors_t graph_tensors(const graph_model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_parameters_t own = graph_parameters(&model->file, layer);
    const uint32_t theta = model->plan.theta[l], beta = model->plan.beta[l];
    tensors_t tensors = {
        .weights = (int8_t *)(uintptr_t)graph_weights(&model->file, layer),
        .sums = (int32_t *)(uintptr_t)own.sum,
        .bias = (int32_t *)(uintptr_t)own.bias,
        .multiplier = own.multiplier,
        .shift = own.shift,
        .scale = own.scale,
    };
    if (theta != PLAN_NOWHERE) {
        tensors.weights = graph_s8(model, theta);
        tensors.sums = graph_s32(model, theta + (layer->weights + 3u) / 4u * 4u);
    }
    if (beta != PLAN_NOWHERE) {
        tensors.bias = graph_s32(model, beta);
    }
    return tensors;
}

void graph_copy_trained(const graph_model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (!graph_has_weights(layer)) {
            continue;
        }
        const graph_parameters_t own = graph_parameters(&model->file, layer);
        const tensors_t tensors = graph_tensors(model, l);
        if (model->plan.theta[l] != PLAN_NOWHERE) {
            memcpy(tensors.weights, graph_weights(&model->file, layer), layer->weights);
            memcpy(tensors.sums, own.sum, layer->channels * sizeof own.sum[0]);
        }
        if (model->plan.beta[l] != PLAN_NOWHERE) {
            memcpy(tensors.bias, own.bias, layer->channels * sizeof own.bias[0]);
        }
    }
}

uint8_t graph_tensor_count(const graph_model_t *model) {
    const graph_training_t *training = &model->training;
    uint8_t layers = 0;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        layers = (uint8_t)(layers + in_set(training->layers, l));
    }
    return (uint8_t)(layers * (training->weights + training->biases));
}

const uint8_t *graph_tensor(const graph_model_t *model, uint8_t tensor, uint32_t *bytes) {
    const graph_training_t *training = &model->training;
    const uint8_t each = (uint8_t)(training->weights + training->biases);
    uint8_t before = (uint8_t)(tensor / each), l = 0; /* trained layers before its own */
    for (;; l++) {
        if (in_set(training->layers, l) && before-- == 0) {
            break;
        }
    }
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = graph_tensors(model, l);
    if (training->weights && tensor % each == 0) {
        *bytes = layer->weights;
        return (const uint8_t *)tensors.weights;
    }
    *bytes = layer->channels * (uint32_t)sizeof tensors.bias[0];
    return (const uint8_t *)tensors.bias;
}
