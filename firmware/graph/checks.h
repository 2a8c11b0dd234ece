/* The numbers of the checks of a layer, `b` of network_layer: docs/network.md. */
#pragma once

#include <stdbool.h>

#include "graph/file.h"

enum graph_check {
    CHECK_PASSED = 0,
    CHECK_OP = 1,
    CHECK_INPUT = 2,
    CHECK_OUTPUT = 3,
    CHECK_WINDOW = 4,
    CHECK_FORMAT = 5,
    CHECK_PLACE = 6,
    CHECK_ZERO = 7,
    CHECK_CLASSES = 8,
    CHECK_SCALE = 9,
    CHECK_DIMENSION = 10,
    CHECK_SUMS = 11,
    CHECK_WEIGHT = 12,
    CHECK_LIMITS = 13,
    CHECKS = 14,
};

/* A layer while it is checked, and where its data begin and end in the file; `end` is right once they are known to be
   inside. */
typedef struct {
    const graph_file_t *file;
    const graph_layer_t *layer;
    uint8_t index;
    uint32_t from, end;
} candidate_t;

typedef bool (*check_t)(const candidate_t *candidate);

/* What a file in a format looks like, and the checks that the format makes of its own, by their number; NULL: it makes
   none. */
typedef struct {
    uint8_t number; /* of the format, in the file */
    uint8_t weight_bytes, value_bytes;
    uint16_t most_classes;                 /* of a network whose first layer has it; 0: as many as any network */
    uint8_t least_rounding, most_rounding; /* of a layer */
    bool has_exponents;                    /* of the weights of a layer */
    bool keeps_pixels; /* a sample stays pixels, of which each pass makes value 0; else its values are made once */
    check_t check[CHECKS];
    uint32_t (*parameter_bytes)(const graph_layer_t *layer); /* NULL: there are no parameters */
    /* Whether a layer may read a value of a format. NULL: only of its own. */
    bool (*reads)(const graph_layer_t *layer, uint8_t format);
} format_checks_t;

/* Those of all formats; NULL ends them. trainer/registry.c has the list. */
extern const format_checks_t *const registry_checks[];

/* Those of a format by its number; NULL: there is no such format. */
const format_checks_t *format_checks(uint8_t number);

/* CHECK_FORMAT and CHECK_SUMS of formats whose networks are chains, as those of bfp8 are: each layer reads the one
   before; and no sum has more products than int32 holds of int8. */
bool chain_is_taken(const candidate_t *candidate);
bool chain_sums_fit(const candidate_t *candidate);

/* Whether the factors of an add of tflite8 fit; a multiplier and a shift do; and CHECK_LIMITS of tflite8. */
bool tflite8_factors_fit(const graph_factors_t *factors);
bool tflite8_factor_fits(int32_t multiplier, int32_t shift, int32_t most_shift);
bool tflite8_limits_fit(const candidate_t *candidate);

/* Whether a number with these bits may be a weight or a bias of float32: one in +-2^20. */
bool float32_is_weight(uint32_t bits);

/* Whether the scales of the values that a layer reads, of affine8 or tflite8, are in 2^-40..2^23. */
bool affine8_reads_scales(const candidate_t *candidate);

/* A normal number in 2^-40..2^40. */
static inline bool scale_is_allowed(float scale) {
    return scale >= 0x1p-40f && scale <= 0x1p40f;
}

static inline uint32_t round_up_4(uint32_t n) {
    return (n + 3u) / 4u * 4u;
}

static inline bool all_zero(const uint8_t *bytes, uint32_t n) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

static inline bool is_op(const candidate_t *candidate, enum op op) {
    return candidate->layer->op == op;
}

/* Whether the bytes from the last weight to a multiple of 4 are zero. */
static inline bool weights_are_padded(const candidate_t *candidate) {
    const uint32_t weights =
        graph_weight_count(candidate->layer) * format_checks(candidate->layer->format)->weight_bytes;
    return all_zero(candidate->file->bytes + candidate->layer->weights_offset + weights, round_up_4(weights) - weights);
}

/* Products in the sum for the error of one input of a layer with weights. */
static inline uint64_t error_products(const graph_layer_t *layer) {
    const uint32_t window = (uint32_t)layer->kernel_h * layer->kernel_w;
    switch (layer->op) {
    case OP_DEPTHWISE: return window;
    case OP_FULLY_CONNECTED: return layer->out_c;
    default: return (uint64_t)window * layer->out_c;
    }
}

static inline uint64_t positions(const graph_layer_t *layer) {
    return (uint64_t)layer->out_h * layer->out_w;
}
