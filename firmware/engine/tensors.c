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
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const format_t *format = model_format(model, l);
    const uint32_t offset = format->bias_offset + format->bias_step * graph_channels(layer);
    return (const int32_t *)(const void *)(model->file.bytes + layer->parameters_offset + offset);
}

int32_t *model_biases(const model_t *model, uint8_t l) {
    const uint32_t copied = plan_at(&model->plan, PLAN_BIASES, l);
    return copied != PLAN_NOWHERE ? model_s32(model, copied) : (int32_t *)(uintptr_t)file_biases(model, l);
}

static const uint8_t *file_range(const model_t *model, uint8_t l) {
    return model->file.bytes + graph_layer(&model->file, l)->parameters_offset;
}

uint8_t *model_range(const model_t *model, uint8_t l) {
    const uint32_t copied = plan_at(&model->plan, PLAN_WEIGHTS, l);
    return copied != PLAN_NOWHERE ? model->arena + copied : (uint8_t *)(uintptr_t)file_range(model, l);
}

void model_rewritten(const model_t *model, uint8_t l, enum tensor_kind kind) {
    const format_t *format = model_format(model, l);
    if (format->rewritten != NULL) {
        format->rewritten(model, l, kind);
    }
}

/* Bytes of a tensor of a layer; 0: it has none. */
static uint32_t tensor_bytes(const model_t *model, uint8_t l, enum tensor_kind kind) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const format_t *format = model_format(model, l);
    if (kind == TENSOR_RANGE) {
        return format->range_bytes != NULL ? format->range_bytes(layer) : 0;
    }
    if (kind == TENSOR_BIASES || kind == TENSOR_GAINS) {
        return graph_channels(layer) * (uint32_t)sizeof(int32_t);
    }
    const uint32_t weights = graph_weight_bytes(layer);
    return format->tail_bytes > 0 && weights > 0 ? (weights + 3) / 4 * 4 + format->tail_bytes : weights;
}

static bool kind_is_trained(const training_t *training, enum tensor_kind kind) {
    switch (kind) {
    case TENSOR_BIASES: return training->biases;
    case TENSOR_GAINS: return training->gains;
    default: return training->weights;
    }
}

static bool is_trained(const model_t *model, uint8_t l, enum tensor_kind kind) {
    const training_t *training = &model->training;
    return in_set(training->layers, l) && kind_is_trained(training, kind) && tensor_bytes(model, l, kind) > 0;
}

/* Copy a tensor where it has a copy. */
static void copy(const model_t *model, uint8_t l, enum tensor_kind kind, void *to, const void *from) {
    if (is_trained(model, l, kind)) {
        memcpy(to, from, tensor_bytes(model, l, kind));
    }
}

void model_copy_trained(const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        copy(model, l, TENSOR_WEIGHTS, model_weights(model, l),
             graph_weights(&model->file, graph_layer(&model->file, l)));
        copy(model, l, TENSOR_BIASES, model_biases(model, l), file_biases(model, l));
        copy(model, l, TENSOR_RANGE, model_range(model, l), file_range(model, l));
    }
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (is_trained(model, l, TENSOR_WEIGHTS)) {
            model_rewritten(model, l, TENSOR_WEIGHTS);
        }
    }
}

void model_stand_copies(plan_t *plan, const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint32_t made = model_format(model, l)->channel_bytes * graph_channels(graph_layer(&model->file, l));
        if (is_trained(model, l, TENSOR_WEIGHTS)) {
            plan_stand(plan, plan_place(PLAN_WEIGHTS, l),
                       (tensor_bytes(model, l, TENSOR_WEIGHTS) + 3ull) / 4 * 4 + made);
        }
        if (is_trained(model, l, TENSOR_BIASES)) {
            plan_stand(plan, plan_place(PLAN_BIASES, l), tensor_bytes(model, l, TENSOR_BIASES));
        }
        if (is_trained(model, l, TENSOR_RANGE)) {
            plan_stand(plan, plan_place(PLAN_WEIGHTS, l), tensor_bytes(model, l, TENSOR_RANGE));
        }
    }
}

bool may_be_s8(const model_t *model, const written_t *written, uint32_t at) {
    int8_t value;
    (void)model;
    written_value(written, at, &value, sizeof value);
    return written->tensor.kind != TENSOR_WEIGHTS || value != INT8_MIN;
}

void written_value(const written_t *written, uint32_t at, void *value, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t place = at + i;
        const bool stays = place < written->offset || place >= written->offset + written->length;
        ((uint8_t *)value)[i] = stays ? written->tensor.bytes[place] : written->data[place - written->offset];
    }
}

uint32_t model_value_bytes(const model_t *model, const trained_tensor_t *tensor, uint32_t at) {
    const uint32_t weights =
        tensor->kind == TENSOR_WEIGHTS ? graph_weight_bytes(graph_layer(&model->file, tensor->layer)) : 0;
    const uint32_t padding = (weights + 3) / 4 * 4 - weights;
    return at < weights             ? weights / graph_weight_count(graph_layer(&model->file, tensor->layer))
           : at < weights + padding ? 1
                                    : (uint32_t)sizeof(int32_t);
}

/* Where the kinds end that there may be: where gains are trained, nothing else is. */
static enum tensor_kind end_of_kinds(const model_t *model) {
    return model->training.gains ? TENSOR_KINDS : TENSOR_GAINS;
}

uint8_t model_tensors(const model_t *model) {
    const enum tensor_kind end = end_of_kinds(model);
    uint8_t tensors = 0;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        for (enum tensor_kind kind = TENSOR_WEIGHTS; kind < end; kind++) {
            tensors = (uint8_t)(tensors + is_trained(model, l, kind));
        }
    }
    return tensors;
}

static uint8_t *place_of(const model_t *model, uint8_t l, enum tensor_kind kind) {
    switch (kind) {
    case TENSOR_WEIGHTS: return (uint8_t *)model_weights(model, l);
    case TENSOR_BIASES: return (uint8_t *)model_biases(model, l);
    case TENSOR_GAINS: return (uint8_t *)model_words(model, PLAN_GAINS, l);
    default: return model_range(model, l);
    }
}

trained_tensor_t model_tensor(const model_t *model, uint8_t tensor) {
    const enum tensor_kind end = end_of_kinds(model);
    uint8_t l = 0;
    enum tensor_kind kind = TENSOR_WEIGHTS;
    for (uint8_t before = tensor; before > 0 || !is_trained(model, l, kind);) {
        before = (uint8_t)(before - is_trained(model, l, kind));
        l = (uint8_t)(l + (kind + 1 == end));
        kind = kind + 1 == end ? TENSOR_WEIGHTS : kind + 1;
    }
    return (trained_tensor_t){
        .bytes = place_of(model, l, kind), .size = tensor_bytes(model, l, kind), .layer = l, .kind = kind};
}
