#include "methods/tflite8_methods.h"

#include "formats/tflite8_sizes.h"

uint8_t tflite8_check(const settings_t *settings_of_all, const graph_file_t *file, const tflite8_only_t *only,
                      uint32_t n) {
    const tflite8_settings_t *settings = (const void *)settings_of_all;
    const training_t training = tflite8_training(settings_of_all, file);
    if (training.layers == 0) {
        return offsetof(tflite8_settings_t, blocks);
    }
    if (settings->train == TRAIN_BIAS && !settings->train_bias) {
        return offsetof(tflite8_settings_t, train_bias);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (((const uint8_t *)settings)[only[i].place] != only[i].value) {
            return only[i].place;
        }
    }
    if (settings->difference == DIFFERENCE_CENTRAL && settings->perturb != PERTURB_WEIGHT) {
        return offsetof(tflite8_settings_t, difference);
    }
    return METHOD_TAKES_ALL;
}

bool tflite8_is_last_with_weights(const graph_file_t *file, uint8_t l) {
    for (uint8_t later = (uint8_t)(l + 1); later < file->layers; later++) {
        if (graph_has_weights(graph_layer(file, later))) {
            return false;
        }
    }
    return true;
}

static bool is_trained(const tflite8_settings_t *settings, const graph_file_t *file, uint8_t l) {
    const graph_layer_t *layer = graph_layer(file, l);
    if (!graph_has_weights(layer)) {
        return false;
    }
    const bool takes_last = settings->train == TRAIN_LAST || settings->train == TRAIN_POINTWISE_LAST;
    if (takes_last && tflite8_is_last_with_weights(file, l)) {
        return true;
    }
    const bool in_block = (settings->blocks >> (layer->block - 1) & 1) != 0;
    switch (settings->train) {
    case TRAIN_LAST: return false;
    case TRAIN_POINTWISE:
    case TRAIN_POINTWISE_LAST: return in_block && layer->op == OP_POINTWISE;
    default: return in_block;
    }
}

static bool is_by_nodes(const tflite8_settings_t *settings, const graph_layer_t *layer) {
    const uint32_t d_w = settings->train == TRAIN_BIAS ? graph_channels(layer) : graph_weight_count(layer);
    const bool chosen =
        settings->perturb == PERTURB_NODE || (settings->perturb == PERTURB_ADAPTIVE && d_w >= graph_outputs(layer));
    return settings->method == METHOD_POOR_MANS && chosen;
}

static bool has_one_reader(const graph_file_t *file, uint8_t value) {
    uint32_t readers = 0;
    for (uint8_t l = 0; l < file->layers; l++) {
        readers += graph_reads(graph_layer(file, l), value);
    }
    return readers == 1;
}

static bool convolves(const graph_layer_t *layer) {
    return layer->op == OP_CONV2D || layer->op == OP_POINTWISE;
}

/* Whether layers l - 1 and l may be the first and the second of a chain, or the second and the third. */
static bool may_join(const graph_file_t *file, const training_t *training, uint8_t l) {
    const uint8_t before = (uint8_t)(l - 1);
    const graph_layer_t *layer = graph_layer(file, l), *first = graph_layer(file, before);
    if (!graph_reads(layer, l) || !has_one_reader(file, l) || in_set(training->nodes, l) ||
        in_set(training->nodes, before)) {
        return false;
    }
    if (in_set(training->joined, before)) {
        return first->op == OP_DEPTHWISE && layer->op == OP_POINTWISE;
    }
    return convolves(first) && layer->op == OP_DEPTHWISE && ring_width(layer) <= UINT16_MAX;
}

/* Layer-wise, the groups that have a trained layer: a set of the layers that they begin with. */
static uint64_t starts_of(const training_t *training, uint8_t layers) {
    uint64_t starts = 0;
    for (uint8_t l = 0; l < layers; l++) {
        starts |= (uint64_t)in_set(training->layers, l) << group_first(training, l);
    }
    return starts;
}

training_t tflite8_training(const settings_t *settings_of_all, const graph_file_t *file) {
    const tflite8_settings_t *settings = (const void *)settings_of_all;
    training_t training = {.weights = settings->train != TRAIN_BIAS,
                           .biases = settings->train_bias != 0,
                           .passes = 1,
                           .reached = UINT64_MAX,
                           .first_backward = file->layers};
    for (uint8_t l = 0; l < file->layers; l++) {
        if (is_trained(settings, file, l)) {
            training.layers |= UINT64_C(1) << l;
            training.nodes |= (uint64_t)is_by_nodes(settings, graph_layer(file, l)) << l;
        }
    }
    const bool back = tflite8_goes_back(settings), layer_wise = settings->wise == WISE_LAYER && !back;
    if (back && training.layers != 0) {
        training.first_backward = first_of_set(training.layers);
        training.reached = reached_layers(file, &training);
    }
    training.updated = training.layers & training.reached;
    for (uint8_t l = 1; settings->fused && l < training.first_backward; l++) {
        training.joined |= (uint64_t)may_join(file, &training, l) << l;
    }
    training.starts = layer_wise ? starts_of(&training, file->layers) : 1;
    training.consumed = settings->consumed && settings->slots == 1 && (layer_wise || back);
    return training;
}
