/* The reader of the network file: docs/network.md. */
#include <stddef.h>
#include <string.h>

#include "arith/xxh32.h"
#include "net/network.h"

#define MAGIC 0x54454E48u
#define DIGEST_FROM 16u
#define INPUT_EXPONENT (-7)

enum { HEADER = 32, RECORD = 32, LEAST_CLASSES = 2, MOST_CLASSES = 256, LEAST_EXPONENT = -32, MOST_EXPONENT = 8 };

/* The numbers of the checks, `b` of network_layer. */
enum check {
    CHECK_PASSED = 0,
    CHECK_OP = 1,
    CHECK_INPUT = 2,
    CHECK_OUTPUT = 3,
    CHECK_KERNEL = 4,
    CHECK_COUNT = 5,
    CHECK_PLACE = 6,
    CHECK_ZERO = 7,
    CHECK_CLASSES = 8,
    CHECK_EXPONENT = 9,
    CHECK_DIMENSION = 10,
    CHECK_SUM = 11,
    CHECK_WEIGHT = 12,
};

/* A layer with the input that the one before it gives, while it is checked. */
typedef struct {
    const uint8_t *blob;
    const uint8_t *record;
    const layer_t *layer;
    const layer_t *before; /* NULL for the first */
    uint16_t in_h, in_w, in_c;
    bool is_last;
} candidate_t;

static uint16_t read_u16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t read_u32(const uint8_t *p) {
    return read_u16(p) | (uint32_t)read_u16(p + 2) << 16;
}

static bool all_zero(const uint8_t *p, uint32_t n) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= p[i];
    }
    return any == 0;
}

static bool is_kind(const candidate_t *candidate, enum layer_op op) {
    return candidate->layer->op == op;
}

/* relu works in place on the output of a layer before it that is not itself in place (docs/memory.md). */
static bool op_is_known(const candidate_t *candidate) {
    if (is_kind(candidate, OP_RELU)) {
        return candidate->before != NULL && candidate->before->op != OP_RELU;
    }
    return is_kind(candidate, OP_CONV2D) || is_kind(candidate, OP_FULLY_CONNECTED) || is_kind(candidate, OP_MAX_POOL);
}

static bool input_follows(const candidate_t *candidate) {
    const layer_shape_t *shape = &candidate->layer->shape;
    return shape->in_h == candidate->in_h && shape->in_w == candidate->in_w && shape->in_c == candidate->in_c;
}

static bool output_is(const layer_shape_t *shape, int32_t h, int32_t w, int32_t c) {
    return shape->out_h == h && shape->out_w == w && shape->out_c == c;
}

static bool output_follows(const candidate_t *candidate) {
    const layer_shape_t *shape = &candidate->layer->shape;
    const int32_t pad = 2 * shape->padding;
    const int32_t k = shape->kernel_h;
    switch (candidate->layer->op) {
    case OP_CONV2D:
        return output_is(shape, shape->in_h + pad - k + 1, shape->in_w + pad - shape->kernel_w + 1, shape->out_c);
    case OP_FULLY_CONNECTED:
        return output_is(shape, 1, 1, shape->out_c);
    case OP_MAX_POOL:
        return k > 0 && output_is(shape, shape->in_h / k, shape->in_w / k, shape->in_c);
    default:
        return output_is(shape, shape->in_h, shape->in_w, shape->in_c);
    }
}

static bool kernel_fits(const candidate_t *candidate) {
    const layer_shape_t *shape = &candidate->layer->shape;
    const uint8_t stride = candidate->record[3];
    switch (candidate->layer->op) {
    case OP_CONV2D:
        return stride == 1 && shape->padding < shape->kernel_h && shape->padding < shape->kernel_w;
    case OP_MAX_POOL:
        return shape->kernel_h > 0 && shape->kernel_w == shape->kernel_h && stride == shape->kernel_h && shape->padding == 0;
    default:
        return all_zero(candidate->record + 1, 4);
    }
}

static uint64_t volume(uint64_t h, uint64_t w, uint64_t c) {
    return h * w * c;
}

/* Products behind one output; their number times the outputs' channels is that of the weights. */
static uint64_t products(const layer_t *layer) {
    const layer_shape_t *shape = &layer->shape;
    return layer->op == OP_CONV2D ? volume(shape->kernel_h, shape->kernel_w, shape->in_c)
                                  : volume(shape->in_h, shape->in_w, shape->in_c);
}

static bool count_fits(const candidate_t *candidate) {
    const layer_t *layer = candidate->layer;
    const uint64_t expected = layer_is_trained(layer) ? products(layer) * layer->shape.out_c : 0;
    return layer->weights == expected;
}

static bool weights_are_inside(const candidate_t *candidate, uint32_t first, uint32_t end) {
    const layer_t *layer = candidate->layer;
    if (!layer_is_trained(layer)) {
        return layer->weights_offset == 0;
    }
    return layer->weights_offset % 4 == 0 && layer->weights_offset >= first &&
           (uint64_t)layer->weights_offset + layer->weights <= end;
}

static bool zeros_are_zero(const candidate_t *candidate) {
    const uint8_t *record = candidate->record;
    const bool exponent = layer_is_trained(candidate->layer) || record[5] == 0;
    return exponent && all_zero(record + 6, 2) && all_zero(record + 28, 4);
}

static bool gives_classes(const candidate_t *candidate, uint16_t classes) {
    return !candidate->is_last || (is_kind(candidate, OP_FULLY_CONNECTED) && candidate->layer->shape.out_c == classes);
}

static bool exponent_fits(const candidate_t *candidate) {
    return candidate->layer->weight_exponent >= LEAST_EXPONENT && candidate->layer->weight_exponent <= MOST_EXPONENT;
}

static bool has_dimensions(const candidate_t *candidate) {
    const layer_shape_t *shape = &candidate->layer->shape;
    return volume(shape->in_h, shape->in_w, shape->in_c) > 0 && volume(shape->out_h, shape->out_w, shape->out_c) > 0;
}

static bool fits_int32(uint64_t terms) {
    return terms <= INT32_MAX / (127 * 127);
}

/* The sums of the forward pass, of the weight gradient and of the input error. */
static bool sums_fit(const candidate_t *candidate) {
    const layer_shape_t *shape = &candidate->layer->shape;
    if (!layer_is_trained(candidate->layer)) {
        return true;
    }
    const uint64_t window = is_kind(candidate, OP_CONV2D) ? volume(shape->kernel_h, shape->kernel_w, 1) : 1;
    return fits_int32(products(candidate->layer)) && fits_int32(volume(shape->out_h, shape->out_w, 1)) &&
           fits_int32(window * shape->out_c);
}

/* -128 never appears in a tensor (docs/arithmetic.md, section 1): the bounds on sums rest on it. */
static bool weights_are_allowed(const candidate_t *candidate) {
    const uint8_t *weights = candidate->blob + candidate->layer->weights_offset;
    for (uint32_t i = 0; i < candidate->layer->weights; i++) {
        if (weights[i] == 0x80) {
            return false;
        }
    }
    return true;
}

/* The first check, in the order of their numbers, that the layer does not pass. */
static enum check check_layer(const candidate_t *candidate, const network_t *network) {
    const uint32_t first_weight = HEADER + network->layers * (uint32_t)RECORD;
    const bool passed[] = {
        [CHECK_OP] = op_is_known(candidate),
        [CHECK_INPUT] = input_follows(candidate),
        [CHECK_OUTPUT] = output_follows(candidate),
        [CHECK_KERNEL] = kernel_fits(candidate),
        [CHECK_COUNT] = count_fits(candidate),
        [CHECK_PLACE] = weights_are_inside(candidate, first_weight, network->size),
        [CHECK_ZERO] = zeros_are_zero(candidate),
        [CHECK_CLASSES] = gives_classes(candidate, network->classes),
        [CHECK_EXPONENT] = exponent_fits(candidate),
        [CHECK_DIMENSION] = has_dimensions(candidate),
        [CHECK_SUM] = sums_fit(candidate),
    };
    for (enum check check = CHECK_OP; check <= CHECK_SUM; check++) {
        if (!passed[check]) {
            return check;
        }
    }
    return weights_are_allowed(candidate) ? CHECK_PASSED : CHECK_WEIGHT;
}

static layer_t read_layer(const uint8_t *record) {
    return (layer_t){
        .op = record[0],
        .weight_exponent = (int8_t)record[5],
        .shape =
            {
                .kernel_h = record[1],
                .kernel_w = record[2],
                .padding = record[4],
                .in_h = read_u16(record + 8),
                .in_w = read_u16(record + 10),
                .in_c = read_u16(record + 12),
                .out_h = read_u16(record + 14),
                .out_w = read_u16(record + 16),
                .out_c = read_u16(record + 18),
            },
        .weights_offset = read_u32(record + 20),
        .weights = read_u32(record + 24),
    };
}

static failure_t refuse_layer(uint32_t layer, enum check check) {
    return refusal(FAILURE_NETWORK_LAYER, layer, check);
}

/* The file as a whole: everything in front of the meaning of its fields. */
static failure_t check_file(const uint8_t *blob, uint32_t received) {
    if (received < HEADER) {
        return refusal(FAILURE_NETWORK_TRUNCATED, received, HEADER);
    }
    if (read_u32(blob) != MAGIC) {
        return refusal(FAILURE_NETWORK_MAGIC, read_u32(blob), 0);
    }
    if (read_u16(blob + 4) != NETWORK_VERSION) {
        return refusal(FAILURE_NETWORK_VERSION, read_u16(blob + 4), NETWORK_VERSION);
    }
    const uint32_t total = read_u32(blob + 8);
    const uint32_t records_end = HEADER + read_u16(blob + 6) * (uint32_t)RECORD;
    const uint32_t needed = total > records_end ? total : records_end;
    if (received < needed) {
        return refusal(FAILURE_NETWORK_TRUNCATED, received, needed);
    }
    if (received != total) {
        return refusal(FAILURE_BAD_LENGTH, received, total);
    }
    const uint32_t digest = xxh32(blob + DIGEST_FROM, received - DIGEST_FROM, 0);
    if (digest != read_u32(blob + 12)) {
        return refusal(FAILURE_NETWORK_DIGEST, digest, read_u32(blob + 12));
    }
    return no_failure();
}

/* A fault of the header is reported at the layer that it would break. */
static failure_t read_header(network_t *network, const uint8_t *blob, uint32_t received) {
    const uint16_t layers = read_u16(blob + 6);
    *network = (network_t){
        .classes = read_u16(blob + 22),
        .input_exponent = (int8_t)blob[24],
        .size = received,
        .digest = read_u32(blob + 12),
    };
    if (layers < 1 || layers > ENGINE_MAX_LAYERS) {
        return refuse_layer(layers, CHECK_CLASSES);
    }
    network->layers = (uint8_t)layers;
    if (!all_zero(blob + 25, 7)) {
        return refuse_layer(0, CHECK_ZERO);
    }
    if (network->input_exponent != INPUT_EXPONENT) {
        return refuse_layer(0, CHECK_EXPONENT);
    }
    if (network->classes < LEAST_CLASSES || network->classes > MOST_CLASSES) {
        return refuse_layer(layers - 1u, CHECK_CLASSES);
    }
    return no_failure();
}

static failure_t read_layers(network_t *network, const uint8_t *blob) {
    uint32_t end = 0;
    candidate_t candidate = {.blob = blob, .in_h = read_u16(blob + 16), .in_w = read_u16(blob + 18), .in_c = read_u16(blob + 20)};
    for (uint8_t i = 0; i < network->layers; i++) {
        layer_t *layer = &network->layer[i];
        candidate.record = blob + HEADER + i * RECORD;
        *layer = read_layer(candidate.record);
        candidate.layer = layer;
        candidate.is_last = i + 1 == network->layers;
        const enum check check = check_layer(&candidate, network);
        if (check != CHECK_PASSED) {
            return refuse_layer(i, check);
        }
        if (layer_is_trained(layer)) {
            network->tensor_layer[network->tensors++] = i;
            const uint32_t behind = layer->weights_offset + layer->weights;
            end = behind > end ? behind : end;
        }
        candidate.before = layer;
        candidate.in_h = layer->shape.out_h;
        candidate.in_w = layer->shape.out_w;
        candidate.in_c = layer->shape.out_c;
    }
    if ((end + 3u) / 4u * 4u != network->size) { /* the digest does not cover the number of layers; this does */
        return refuse_layer(network->layers - 1u, CHECK_PLACE);
    }
    return no_failure();
}

failure_t network_parse(network_t *network, const uint8_t *blob, uint32_t received) {
    failure_t failure = check_file(blob, received);
    if (failure.code == 0) {
        failure = read_header(network, blob, received);
    }
    if (failure.code == 0) {
        failure = read_layers(network, blob);
    }
    return failure;
}
