/* What bfp8 requires of a layer, and what every format of chains does: docs/network.md. */
#include "graph/checks.h"

#define INPUT_SCALE 0x1p-7f /* of exponent -7 */

enum {
    MOST_LAYERS = 32,
    LEAST_EXPONENT = -32,
    MOST_EXPONENT = 8,
    MOST_CLASSES = 256 /* labels have one byte */,
    MOST_PRODUCTS = INT32_MAX / (127 * 127)
};

static bool convolves(const graph_layer_t *layer) {
    const int32_t rows = layer->in_h + 2 * layer->padding_h - layer->kernel_h + 1;
    const int32_t columns = layer->in_w + 2 * layer->padding_w - layer->kernel_w + 1;
    return layer->stride_h == 1 && layer->stride_w == 1 && layer->padding_h == layer->padding_w &&
           layer->out_h == rows && layer->out_w == columns;
}

static bool pools(const graph_layer_t *layer) {
    const uint8_t k = layer->stride_h;
    return layer->stride_w == k && layer->kernel_h == k && layer->kernel_w == k && layer->padding_h == 0 &&
           layer->padding_w == 0 && layer->out_h == layer->in_h / k && layer->out_w == layer->in_w / k;
}

/* A relu works in place on the output of a layer before it that does not itself (docs/memory.md). */
static bool has_buffer(const candidate_t *candidate) {
    return candidate->index > 0 && graph_layer(candidate->file, (uint8_t)(candidate->index - 1))->op != OP_RELU;
}

bool chain_is_taken(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (candidate->index >= MOST_LAYERS || layer->reads[0] != candidate->index) {
        return false;
    }
    switch (layer->op) {
    case OP_CONV2D: return convolves(layer);
    case OP_FULLY_CONNECTED: return true;
    case OP_RELU: return has_buffer(candidate);
    case OP_MAX_POOL: return pools(layer);
    default: return false;
    }
}

static bool exponents_are_allowed(const candidate_t *candidate) {
    const graph_header_t *header = graph_header(candidate->file);
    const int8_t exponent = candidate->layer->weight_exponent;
    return header->scale == INPUT_SCALE && header->zero == 0 && exponent >= LEAST_EXPONENT && exponent <= MOST_EXPONENT;
}

/* The sums of the forward pass, of an input's error and of the weights' gradient. */
bool chain_sums_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    return !graph_has_weights(layer) || (graph_wide_taps(layer) <= MOST_PRODUCTS &&
                                         error_products(layer) <= MOST_PRODUCTS && positions(layer) <= MOST_PRODUCTS);
}

/* -128 never appears in a tensor (docs/arithmetic.md, section 1): the bounds on sums rest on it. */
static bool weights_are_allowed(const candidate_t *candidate) {
    const int8_t *weights = graph_weights(candidate->file, candidate->layer);
    const uint32_t n = graph_weight_count(candidate->layer);
    for (uint32_t i = 0; i < n; i++) {
        if (weights[i] == INT8_MIN) {
            return false;
        }
    }
    return true;
}

const format_checks_t bfp8_checks = {
    .number = FORMAT_BFP8,
    .weight_bytes = sizeof(int8_t),
    .value_bytes = sizeof(int8_t),
    .most_classes = MOST_CLASSES,
    .has_exponents = true,
    .check = {[CHECK_FORMAT] = chain_is_taken,
              [CHECK_ZERO] = weights_are_padded,
              [CHECK_SCALE] = exponents_are_allowed,
              [CHECK_SUMS] = chain_sums_fit,
              [CHECK_WEIGHT] = weights_are_allowed},
};
