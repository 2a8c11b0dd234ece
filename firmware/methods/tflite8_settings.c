#include "methods/tflite8_settings.h"

#include "arith/float32.h"
#include "formats/tflite8_sizes.h"
#include "methods/tflite8_reach.h"

#define LARGEST_ETA 0x1p20f

enum { ALL_BLOCKS = 15, MOST_QUERIES = 127, ALL_FLAGS = FLAG_CONSUMED | FLAG_FUSED };

/* A number that is allowed, or refused whatever its bits are. */
static range_t float_field(float value, bool allowed) {
    return (range_t){.value = float32_bits(value), .least = allowed ? 0 : 1, .most = allowed ? UINT32_MAX : 0};
}

failure_t tflite8_check(const settings_t *settings_of_all, const graph_file_t *file, const tflite8_only_t *only,
                        uint32_t n) {
    const tflite8_settings_t *settings = (const void *)settings_of_all;
    const training_t training = tflite8_training(settings_of_all, file);
    const bool some = training.layers != 0;
    range_t fields[] = {
        {settings->method, 0, UINT8_MAX}, /* by its number the method was found */
        {settings->train, TRAIN_ALL, TRAIN_POINTWISE},
        {settings->blocks, some ? 0 : ALL_BLOCKS + 1, ALL_BLOCKS},
        {settings->train_bias, settings->train == TRAIN_BIAS, 1},
        {settings->perturb, PERTURB_WEIGHT, PERTURB_ADAPTIVE},
        {settings->wise, WISE_LAYER, WISE_MODEL},
        {settings->difference, DIFFERENCE_FORWARD,
         settings->perturb == PERTURB_WEIGHT ? DIFFERENCE_CENTRAL : DIFFERENCE_FORWARD},
        {settings->direction, DIRECTION_SAMPLE, DIRECTION_BATCH},
        {settings->gns, 0, 1},
        {settings->qas, 0, 1},
        {settings->sparsity, 0, UINT8_MAX},
        {settings->queries, 1, MOST_QUERIES},
        {settings->flags, 0, ALL_FLAGS},
        float_field(settings->eta, settings->eta > 0.0f && settings->eta <= LARGEST_ETA),
        {settings->batch, 1, UINT16_MAX},
        {settings->seed, 0, UINT32_MAX},
        {settings->slots, 1, settings->batch},
        {settings->first_step, 0, UINT32_MAX},
        float_field(settings->momentum, settings->momentum >= 0.0f && settings->momentum < 1.0f),
    };
    for (uint32_t i = 0; i < n; i++) {
        fields[only[i].field].least = fields[only[i].field].most = only[i].value;
    }
    return ranges_check(fields, sizeof fields / sizeof fields[0]);
}

static bool is_last_with_weights(const graph_file_t *file, uint8_t l) {
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
    if (settings->train == TRAIN_LAST) {
        return is_last_with_weights(file, l);
    }
    const bool in_block = (settings->blocks >> (layer->block - 1) & 1) != 0;
    return in_block && (settings->train != TRAIN_POINTWISE || layer->op == OP_POINTWISE);
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

/* Whether layer l - 1 may begin a chain and l go on with it, or l - 1 go on and l end it. */
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
    const bool back = settings->method == METHOD_BP, layer_wise = settings->wise == WISE_LAYER && !back;
    if (back && training.layers != 0) {
        training.first_backward = first_of_set(training.layers);
        training.reached = tflite8_reached(file, &training);
    }
    for (uint8_t l = 1; (settings->flags & FLAG_FUSED) != 0 && l < training.first_backward; l++) {
        training.joined |= (uint64_t)may_join(file, &training, l) << l;
    }
    training.starts = layer_wise ? starts_of(&training, file->layers) : 1;
    training.consumed = (settings->flags & FLAG_CONSUMED) != 0 && settings->slots == 1 && (layer_wise || back);
    return training;
}
