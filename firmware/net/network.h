/* A loaded network: the layer graph of docs/network.md. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/shapes.h"
#include "net/failure.h"
#include "net/training.h"

#define NETWORK_VERSION 1u /* of the file */

enum layer_op { OP_CONV2D = 1, OP_FULLY_CONNECTED = 2, OP_RELU = 3, OP_MAX_POOL = 4 };

typedef struct {
    uint8_t op;
    int8_t weight_exponent;
    layer_shape_t shape;
    uint32_t weights_offset; /* bytes from the start of the file */
    uint32_t weights;        /* number of weights, 0 for relu and max_pool */
} layer_t;

typedef struct {
    uint8_t layers, tensors;
    uint16_t classes;
    int8_t input_exponent;
    uint32_t size;   /* bytes of the file */
    uint32_t digest; /* as written in the file */
    layer_t layer[ENGINE_MAX_LAYERS];
    uint8_t tensor_layer[ENGINE_MAX_TENSORS]; /* the layer that owns a trained tensor */
} network_t;

/* Read and check the `received` bytes of a network file. After a failure the network is not to be used. */
failure_t network_parse(network_t *network, const uint8_t *blob, uint32_t received);

static inline bool layer_is_trained(const layer_t *layer) {
    return layer->op == OP_CONV2D || layer->op == OP_FULLY_CONNECTED;
}

/* The layer that back-propagation reaches last when the first `partition` tensors are trained by zeroth order; the number of
   layers when it trains none. */
static inline uint8_t network_first_bp(const network_t *network, uint8_t partition) {
    return partition < network->tensors ? network->tensor_layer[partition] : network->layers;
}

#endif
