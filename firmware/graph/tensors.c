#include <string.h>

#include "graph/model.h"
#include "kernels/tflite_layer.h"

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
        tensors.sums = graph_s32(model, theta + (graph_weight_count(layer) + 3u) / 4u * 4u);
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
            memcpy(tensors.weights, graph_weights(&model->file, layer), graph_weight_count(layer));
            memcpy(tensors.sums, own.sum, graph_channels(layer) * sizeof own.sum[0]);
        }
        if (model->plan.beta[l] != PLAN_NOWHERE) {
            memcpy(tensors.bias, own.bias, graph_channels(layer) * sizeof own.bias[0]);
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

/* The layer with so many trained ones before it. */
static uint8_t trained_layer(const graph_model_t *model, uint32_t before) {
    uint8_t l = 0;
    while (!in_set(model->training.layers, l) || before-- > 0) {
        l++;
    }
    return l;
}

trained_tensor_t graph_tensor(const graph_model_t *model, uint8_t tensor) {
    const graph_training_t *training = &model->training;
    const uint8_t each = (uint8_t)(training->weights + training->biases), l = trained_layer(model, tensor / each);
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = graph_tensors(model, l);
    if (training->weights && tensor % each == 0) {
        return (trained_tensor_t){
            .bytes = (uint8_t *)tensors.weights, .size = graph_weight_count(layer), .layer = l, .weights = true};
    }
    return (trained_tensor_t){
        .bytes = (uint8_t *)tensors.bias, .size = graph_channels(layer) * (uint32_t)sizeof tensors.bias[0], .layer = l};
}

/* fold_bias with an input zero of -1 adds them to what is there. */
void graph_sum_weights(const graph_model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = graph_tensors(model, l);
    const uint32_t taps = graph_taps(layer), channels = graph_channels(layer);
    const bool depthwise = layer->op == OP_DEPTHWISE;
    memset(tensors.sums, 0, channels * sizeof tensors.sums[0]);
    tflite_fold_bias(tensors.sums, tensors.weights, taps, depthwise ? channels : 1, channels, depthwise ? 1 : taps, -1,
                     tensors.sums);
}
