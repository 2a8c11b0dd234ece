/* The settings of docs/arithmetic-zeroth-order.md, section 8, and of docs/arithmetic-backward.md; the fields in the order of the request
   `configure_graph`. */
#ifndef GRAPH_SETTINGS_H
#define GRAPH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"
#include "net/failure.h"

typedef struct {
    uint8_t method, train;
    uint8_t blocks; /* bit b - 1: block b is trained */
    uint8_t train_bias, perturb, wise, difference, direction, gns, qas, sparsity, queries;
    uint8_t flags;
    float eta;
    uint16_t batch;
    uint32_t seed;
    uint16_t slots;      /* samples held at a time */
    uint32_t first_step; /* index of the next step */
    float momentum;      /* of bp alone */
} graph_settings_t;

enum graph_method { METHOD_POOR_MANS = 0, METHOD_DEEPZERO = 1, METHOD_BP = 2 };
enum graph_train { TRAIN_ALL = 0, TRAIN_LAST = 1, TRAIN_BIAS = 2, TRAIN_POINTWISE = 3 };
enum graph_perturb { PERTURB_WEIGHT = 0, PERTURB_NODE = 1, PERTURB_ADAPTIVE = 2 };
enum graph_wise { WISE_LAYER = 0, WISE_MODEL = 1 };
enum graph_difference { DIFFERENCE_FORWARD = 0, DIFFERENCE_CENTRAL = 1 };
enum graph_direction { DIRECTION_SAMPLE = 0, DIRECTION_BATCH = 1 };
enum graph_flag { FLAG_CONSUMED = 1, FLAG_FUSED = 2 };

/* What these settings train of a network: sets of layers, bit l for layer l. */
typedef struct {
    uint64_t layers;
    uint64_t nodes;  /* those of them that have their nodes perturbed */
    uint64_t joined; /* those that run in the group of the layer before: docs/memory-graph.md, groups and starts */
    uint64_t
        reached; /* those whose output has an error, which bp gives back to what they read; with other methods all */
    bool weights, biases;
} graph_training_t;

/* Index of the first field that is out of range, and its value; of two fields that do not go together, the later one. */
failure_t graph_settings_check(const graph_settings_t *settings, const graph_file_t *file);

graph_training_t graph_training(const graph_settings_t *settings, const graph_file_t *file);

static inline bool in_set(uint64_t set, uint8_t layer) {
    return (set >> layer & 1u) != 0;
}

/* Samples are held once for all passes, or their memory is used again. */
static inline bool graph_consumes(const graph_settings_t *settings) {
    const bool one_by_one = settings->wise == WISE_LAYER || settings->method == METHOD_BP;
    return (settings->flags & FLAG_CONSUMED) != 0 && settings->slots == 1 && one_by_one;
}

static inline bool graph_has_velocities(const graph_settings_t *settings) {
    return settings->method == METHOD_BP && settings->momentum > 0.0f;
}

/* Whether layer l + 1 runs in the group of layer l: the value between them never exists whole. */
static inline bool is_joined_behind(const graph_training_t *training, uint8_t layer) {
    return layer + 1 < GRAPH_MAX_LAYERS && in_set(training->joined, (uint8_t)(layer + 1));
}

/* F(l) and L(l) of docs/memory-graph.md. */
static inline uint8_t group_first(const graph_training_t *training, uint8_t layer) {
    while (in_set(training->joined, layer)) {
        layer--;
    }
    return layer;
}

static inline uint8_t group_last(const graph_training_t *training, uint8_t layer) {
    while (is_joined_behind(training, layer)) {
        layer++;
    }
    return layer;
}

/* Whether a group that begins with this layer has a trained one: a start, in the layer-wise form. */
static inline bool is_start(const graph_training_t *training, uint8_t layer) {
    bool trained = false;
    for (uint8_t l = layer; !in_set(training->joined, layer) && l <= group_last(training, layer); l++) {
        trained = trained || in_set(training->layers, l);
    }
    return trained;
}

/* What a layer draws numbers for, or has coordinates: its trained weights, and its trained biases. */
static inline uint32_t trained_weights(const graph_training_t *training, const graph_layer_t *layer) {
    return training->weights ? graph_weight_count(layer) : 0;
}

static inline uint32_t trained_biases(const graph_training_t *training, const graph_layer_t *layer) {
    return training->biases ? graph_channels(layer) : 0;
}

#endif
