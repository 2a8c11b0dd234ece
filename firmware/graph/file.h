/* The network file (docs/network.md), read in place: in RAM, where what is trained changes in it, or in flash. The
   file is aligned to 4 bytes, and this computer is little-endian, as it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "graph/failure.h"
#include "kernels/shapes.h"

#define GRAPH_VERSION 4u
#define GRAPH_MAX_LAYERS 64

enum op {
    OP_CONV2D = 1,
    OP_FULLY_CONNECTED = 2,
    OP_RELU = 3,
    OP_MAX_POOL = 4,
    OP_DEPTHWISE = 5,
    OP_POINTWISE = 6,
    OP_AVERAGE_POOL = 7,
    OP_ADD = 8,
    OP_CAST = 9,
    OP_HARD_SWISH = 10,
    OP_MULTIPLY = 11,
    OP_TABLE = 12,
    OP_MEAN = 13,
};

/* The formats whose number other files use; any other has its number in its own file in formats/. */
enum format { FORMAT_TFLITE8 = 1, FORMAT_BFP8 = 2, FORMAT_FLOAT32 = 3, FORMAT_AFFINE8 = 5 };

/* The header, as it lies in the file. */
typedef struct {
    uint32_t magic;
    uint16_t version, layers;
    uint32_t size, digest;
    uint16_t in_h, in_w, in_c, classes;
    float scale; /* of the input */
    int8_t zero;
    uint8_t none[3];
} graph_header_t;

/* Roundings of a layer. tflite8, w16a8: rescale `double` or `single`. affine8: to nearest, or down. */
enum rounding { ROUNDS_DOUBLE = 0, ROUNDS_SINGLE = 1, ROUNDS_NEAREST = 0, ROUNDS_DOWN = 1 };

/* A layer, as it lies in the file. */
typedef struct {
    uint8_t op, format;
    uint8_t block;
    int8_t weight_exponent; /* bfp8 */
    uint8_t kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
    uint8_t reads[2];
    uint16_t in_h, in_w, in_c, out_h, out_w, out_c;
    uint8_t rounding;
    uint8_t none[3];
    uint32_t weights_offset, parameters_offset;
} graph_layer_t;

/* What the parameters of every tflite8 layer begin with. */
typedef struct {
    float scale; /* of the output */
    int8_t zero, act_min, act_max;
    uint8_t none;
} graph_output_t;

/* What follows for an add: factors of the first input, the second, the output. */
typedef struct {
    int32_t multiplier[3];
    int8_t shift[3];
    uint8_t none;
} graph_factors_t;

/* What follows for a mean. */
typedef struct {
    int32_t multiplier;
    int8_t shift;
    uint8_t none[3];
} graph_mean_t;

enum { GRAPH_TABLE_ENTRIES = 256 };

/* What the parameters of every float32 layer begin with. The biases follow. */
typedef struct {
    float act_min, act_max;
} graph_limits_t;

_Static_assert(sizeof(graph_limits_t) == 8, "docs/network.md");
_Static_assert(sizeof(graph_header_t) == 32 && sizeof(graph_layer_t) == 36, "docs/network.md");
_Static_assert(sizeof(graph_output_t) == 8 && sizeof(graph_factors_t) == 16 && sizeof(graph_mean_t) == 8,
               "docs/network.md");

typedef struct {
    const uint8_t *bytes; /* NULL: there is none */
    uint32_t size;
    uint8_t layers;
    uint8_t sample_bytes; /* of one element of a sample that waits for its passes */
} graph_file_t;

/* What follows for a layer with weights, by output channel. */
typedef struct {
    const int32_t *bias, *multiplier;
    const float *scale;
    const int32_t *sum;
    const int8_t *shift;
} graph_parameters_t;

/* Read and check the `received` bytes of a network file. After a failure the file is not to be used. */
failure_t graph_file_open(graph_file_t *file, const uint8_t *bytes, uint32_t received);

/* The answer to a request that a network does not take, since a layer has another format. */
failure_t graph_other_format(uint8_t layer);

/* The first check, in the order of their numbers, that layer `i` does not pass, 0 if none. `place` is where the data
   of the layers before it end in the file, and then where its own do. */
uint32_t graph_check_layer(const graph_file_t *file, uint8_t i, uint32_t *place);

static inline const graph_header_t *graph_header(const graph_file_t *file) {
    return (const graph_header_t *)(const void *)file->bytes;
}

static inline const graph_layer_t *graph_layer(const graph_file_t *file, uint8_t i) {
    return (const graph_layer_t *)(const void *)(file->bytes + sizeof(graph_header_t)) + i;
}

static inline bool graph_has_weights(const graph_layer_t *layer) {
    return layer->op == OP_CONV2D || layer->op == OP_FULLY_CONNECTED || layer->op == OP_DEPTHWISE ||
           layer->op == OP_POINTWISE;
}

static inline bool graph_is_pool(const graph_layer_t *layer) {
    return layer->op == OP_MAX_POOL || layer->op == OP_AVERAGE_POOL;
}

/* Whether an activation may limit the outputs of a layer, and so gate its errors. */
static inline bool graph_has_limits(const graph_layer_t *layer) {
    return graph_has_weights(layer) || layer->op == OP_ADD;
}

/* Weights of one output channel of a layer with weights: up to 2^48 while the file is checked, 32 bits after that. */
static inline uint64_t graph_wide_taps(const graph_layer_t *layer) {
    if (layer->op == OP_FULLY_CONNECTED) {
        return (uint64_t)layer->in_h * layer->in_w * layer->in_c;
    }
    const uint32_t window = (uint32_t)layer->kernel_h * layer->kernel_w;
    return layer->op == OP_DEPTHWISE ? window : (uint64_t)window * layer->in_c;
}

/* The same, of a file that was checked. */
static inline uint32_t graph_taps(const graph_layer_t *layer) {
    return (uint32_t)graph_wide_taps(layer);
}

/* Output channels that have weights; 0 where a layer has none. */
static inline uint32_t graph_channels(const graph_layer_t *layer) {
    return graph_has_weights(layer) ? layer->out_c : 0;
}

static inline uint32_t graph_weight_count(const graph_layer_t *layer) {
    return graph_taps(layer) * graph_channels(layer);
}

/* Of all weights of a layer, without padding. */
uint32_t graph_weight_bytes(const graph_layer_t *layer);

/* The layers with weights, bit l for layer l; how many they are; and the layer with so many of them before it, the
   number of layers where there is none. */
uint64_t graph_weighted_layers(const graph_file_t *file);
uint8_t graph_weighted(const graph_file_t *file);
uint8_t graph_weighted_layer(const graph_file_t *file, uint8_t before);

static inline const int8_t *graph_weights(const graph_file_t *file, const graph_layer_t *layer) {
    return (const int8_t *)file->bytes + layer->weights_offset;
}

/* Of a tflite8 layer. */
static inline const graph_output_t *graph_output(const graph_file_t *file, const graph_layer_t *layer) {
    return (const graph_output_t *)(const void *)(file->bytes + layer->parameters_offset);
}

/* Of a float32 layer. */
static inline const graph_limits_t *graph_limits(const graph_file_t *file, const graph_layer_t *layer) {
    return (const graph_limits_t *)(const void *)(file->bytes + layer->parameters_offset);
}

/* Of an add. */
static inline const graph_factors_t *graph_factors(const graph_file_t *file, const graph_layer_t *layer) {
    return (const graph_factors_t *)(const void *)(graph_output(file, layer) + 1);
}

/* Of a mean. */
static inline const graph_mean_t *graph_mean(const graph_file_t *file, const graph_layer_t *layer) {
    return (const graph_mean_t *)(const void *)(graph_output(file, layer) + 1);
}

/* Of a table: entry i is the output for the input i - 128. */
static inline const int8_t *graph_table(const graph_file_t *file, const graph_layer_t *layer) {
    return (const int8_t *)(graph_output(file, layer) + 1);
}

/* Of a tflite8 layer with weights. */
static inline graph_parameters_t graph_parameters(const graph_file_t *file, const graph_layer_t *layer) {
    const uint32_t n = layer->out_c;
    const int32_t *words = (const int32_t *)(const void *)(graph_output(file, layer) + 1);
    return (graph_parameters_t){
        .bias = words,
        .multiplier = words + n,
        .scale = (const float *)(const void *)(words + 2 * n),
        .sum = words + 3 * n,
        .shift = (const int8_t *)(words + 4 * n),
    };
}

static inline layer_shape_t graph_shape(const graph_layer_t *layer) {
    return (layer_shape_t){
        .in_h = layer->in_h,
        .in_w = layer->in_w,
        .in_c = layer->in_c,
        .out_h = layer->out_h,
        .out_w = layer->out_w,
        .out_c = layer->out_c,
        .kernel_h = layer->kernel_h,
        .kernel_w = layer->kernel_w,
        .stride_h = layer->stride_h,
        .stride_w = layer->stride_w,
        .padding_h = layer->padding_h,
        .padding_w = layer->padding_w,
    };
}

static inline uint32_t graph_inputs(const graph_layer_t *layer) {
    return (uint32_t)layer->in_h * layer->in_w * layer->in_c;
}

static inline uint32_t graph_outputs(const graph_layer_t *layer) {
    return (uint32_t)layer->out_h * layer->out_w * layer->out_c;
}

/* Multiply-accumulates of a forward pass, taps in the padding counted. */
static inline uint64_t graph_products(const graph_layer_t *layer) {
    return graph_has_weights(layer) ? (uint64_t)graph_taps(layer) * graph_outputs(layer) : 0;
}

/* Of value v: 0 is the network's input, v the output of layer v - 1. There may be more than 2^32, as long as there is
   no plan that fits. */
static inline uint64_t graph_elements(const graph_file_t *file, uint8_t value) {
    const graph_header_t *header = graph_header(file);
    if (value == 0) {
        return (uint64_t)header->in_h * header->in_w * header->in_c;
    }
    const graph_layer_t *layer = graph_layer(file, (uint8_t)(value - 1));
    return (uint64_t)layer->out_h * layer->out_w * layer->out_c;
}

/* The format of a value: that of the layer that makes it. Value 0 has that of the first layer. */
static inline uint8_t graph_value_format(const graph_file_t *file, uint8_t value) {
    return graph_layer(file, value > 0 ? (uint8_t)(value - 1) : 0)->format;
}

/* Bytes of one element of a value; and of all. */
uint8_t graph_value_bytes(const graph_file_t *file, uint8_t value);

static inline uint64_t graph_size(const graph_file_t *file, uint8_t value) {
    return graph_elements(file, value) * graph_value_bytes(file, value);
}

/* Of a value in tflite8. */
static inline int8_t graph_zero(const graph_file_t *file, uint8_t value) {
    return value == 0 ? graph_header(file)->zero : graph_output(file, graph_layer(file, (uint8_t)(value - 1)))->zero;
}

static inline float graph_scale(const graph_file_t *file, uint8_t value) {
    return value == 0 ? graph_header(file)->scale : graph_output(file, graph_layer(file, (uint8_t)(value - 1)))->scale;
}

static inline uint8_t graph_read_count(const graph_layer_t *layer) {
    return layer->op == OP_ADD || layer->op == OP_MULTIPLY ? 2 : 1;
}

static inline bool graph_reads(const graph_layer_t *layer, uint8_t value) {
    return layer->reads[0] == value || (graph_read_count(layer) > 1 && layer->reads[1] == value);
}

/* The last layer that reads a value; the number of layers, which stands for the loss, where none does. */
uint8_t graph_last_reader(const graph_file_t *file, uint8_t value);
