/* What goes into a training step and what comes out of it, whatever the method. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "graph/file.h"

enum { ENGINE_MAX_TENSORS = 2 * GRAPH_MAX_LAYERS, ENGINE_MAX_LAPS = 32 };

/* What the settings train of a network, and in which order. Sets of layers have bit l for layer l. */
typedef struct {
    uint64_t layers;        /* those with trained tensors */
    uint64_t updated;       /* those of them that a step updates, where a method may leave some out */
    uint64_t nodes;         /* those of them that have their nodes perturbed */
    uint64_t joined;        /* those that run in the group of the layer before: docs/memory.md, groups and starts */
    uint64_t reached;       /* those whose output has an error, where errors go back; else all */
    uint64_t starts;        /* those at which the buffers are placed again, for the layers from there on */
    uint16_t passes;        /* of the samples through a step, at most 256 */
    bool weights, biases;   /* which tensors of a layer are trained */
    bool gains;             /* or a gain of each output channel, which is no tensor of the file */
    bool consumed;          /* the memory of a sample is reused during its step; there is one slot */
    bool grouped;           /* the samples of a batch share their exponents, and go through a pass at once */
    uint8_t first_backward; /* the first layer that back-propagation trains; the number of layers: none */
} training_t;

static inline bool in_set(uint64_t set, uint8_t layer) {
    return (set >> layer & 1u) != 0;
}

/* The first layer of a set, which is not empty. */
static inline uint8_t first_of_set(uint64_t set) {
    return (uint8_t)__builtin_ctzll(set);
}

/* Whether layer l + 1 runs in the group of layer l: the value between them is never whole. */
static inline bool is_joined_behind(const training_t *training, uint8_t layer) {
    return layer + 1 < GRAPH_MAX_LAYERS && in_set(training->joined, (uint8_t)(layer + 1));
}

/* F(l) and L(l) of docs/memory.md. */
static inline uint8_t group_first(const training_t *training, uint8_t layer) {
    while (in_set(training->joined, layer)) {
        layer--;
    }
    return layer;
}

static inline uint8_t group_last(const training_t *training, uint8_t layer) {
    while (is_joined_behind(training, layer)) {
        layer++;
    }
    return layer;
}

/* The first start from a layer on; the number of layers where there is none. */
static inline uint8_t start_from(const training_t *training, uint8_t layer, uint8_t layers) {
    const uint64_t left = layer < layers ? training->starts >> layer << layer : 0;
    return left != 0 ? first_of_set(left) : layers;
}

/* What of a layer is trained: weights, and biases. */
static inline uint32_t trained_weights(const training_t *training, const graph_layer_t *layer) {
    return training->weights ? graph_weight_count(layer) : 0;
}

static inline uint32_t trained_biases(const training_t *training, const graph_layer_t *layer) {
    return training->biases ? graph_channels(layer) : 0;
}

/* Both: the biases follow the weights. */
static inline uint32_t trained_count(const training_t *training, const graph_layer_t *layer) {
    return trained_weights(training, layer) + trained_biases(training, layer);
}

/* A step under way. All zeros but `step`: it has not begun. */
typedef struct {
    uint32_t step;
    uint8_t pass;
    int8_t signs;      /* sum of the signs of a method's directions */
    uint16_t through;  /* samples that have been through this pass */
    uint16_t samples;  /* of the step: known once pass 0 is over */
    uint16_t group;    /* samples that go through the pass at once */
    float loss[2];     /* as they are reported: plus, or clean; minus, or those of the queries */
    float pair[2];     /* of the two passes that a method compares, where they are not what is reported */
    uint32_t sum[2];   /* A and B of the last sample, where losses are integers: docs/arithmetic.md, section 9 */
    int32_t logs[2];   /* L of each pass for more than one sample, where losses are integers */
    failure_t failure; /* why it cannot be ended: code 0, or step_failed, of a method whose steps may fail */
} step_t;

/* One step, or several in a row: the losses of the last, the cycles of all. Packed, as docs/link.md has it. */
typedef struct __attribute__((packed)) {
    uint32_t step;
    float loss_plus, loss_minus;
    int8_t sign;
    uint64_t cycles_perturb, cycles_forward, cycles_backward, cycles_update, cycles_digest, cycles_total;
} step_result_t;

/* Cycles of one step of a run. */
typedef struct {
    uint64_t perturb, forward, backward, update;
} lap_t;

/* One evaluation. The caller provides room for `count` predictions, of model_prediction_bytes() each. */
typedef struct {
    uint16_t correct;
    uint32_t logits_digest; /* XXH32 over, sample after sample, the logits (int8) and their exponent (int16) */
    uint8_t *predictions;
} infer_result_t;
