/* What float32 asks of a layer: docs/arithmetic-float32.md, section 11. */
#include "arith/float32.h"
#include "graph/checks.h"

#define MOST_SCALE 0x1p32f
#define MOST_WEIGHT 0x1p20f
#define MOST_LIMIT 0x1p40f

enum { MOST_PRODUCTS = 1 << 17 /* behind an output, or the error of an input */, MOST_POSITIONS = 1 << 16 };

static uint32_t parameter_bytes(const graph_layer_t *layer) {
    return (uint32_t)sizeof(graph_limits_t) + graph_channels(layer) * (uint32_t)sizeof(float);
}

static bool is_taken(const candidate_t *candidate) {
    return candidate->layer->op != OP_RELU && candidate->layer->op <= OP_MULTIPLY;
}

static bool reads(const graph_layer_t *layer, uint8_t format) {
    return format == (layer->op == OP_CAST ? FORMAT_AFFINE8 : FORMAT_FLOAT32);
}

/* That of the network has the format of its first layer. A value that is cast has a scale of its own. */
static bool input_is_allowed(const candidate_t *candidate) {
    const graph_header_t *header = graph_header(candidate->file);
    const bool input = candidate->index > 0 || header->scale <= MOST_SCALE;
    return input && (!is_op(candidate, OP_CAST) || affine8_reads_scales(candidate));
}

static bool sums_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    return positions(layer) <= MOST_POSITIONS &&
           (!graph_has_weights(layer) ||
            (graph_wide_taps(layer) <= MOST_PRODUCTS && error_products(layer) <= MOST_PRODUCTS));
}

bool float32_is_weight(uint32_t bits) {
    return (bits & 0x7FFFFFFFu) <= float32_bits(MOST_WEIGHT);
}

static bool are_weights(const void *words, uint32_t n) {
    const uint32_t *word = words;
    for (uint32_t i = 0; i < n; i++) {
        if (!float32_is_weight(word[i])) {
            return false;
        }
    }
    return true;
}

static bool weights_are_allowed(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    return are_weights(graph_weights(candidate->file, layer), graph_weight_count(layer)) &&
           are_weights(graph_limits(candidate->file, layer) + 1, graph_channels(layer));
}

static bool limits_fit(const candidate_t *candidate) {
    const graph_limits_t *limits = graph_limits(candidate->file, candidate->layer);
    const float least = limits->act_min, most = limits->act_max;
    const bool none = least == -MOST_LIMIT && most == MOST_LIMIT, has_limits = graph_has_limits(candidate->layer);
    return least >= -MOST_LIMIT && least < most && most <= MOST_LIMIT && !float32_is_minus_zero(least) &&
           !float32_is_minus_zero(most) && (none || has_limits);
}

const format_checks_t float32_checks = {
    .number = FORMAT_FLOAT32,
    .weight_bytes = sizeof(float),
    .value_bytes = sizeof(float),
    .keeps_pixels = true,
    .check = {[CHECK_FORMAT] = is_taken,
              [CHECK_SCALE] = input_is_allowed,
              [CHECK_SUMS] = sums_fit,
              [CHECK_WEIGHT] = weights_are_allowed,
              [CHECK_LIMITS] = limits_fit},
    .parameter_bytes = parameter_bytes,
    .reads = reads,
};
