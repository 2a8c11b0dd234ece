/* What affine8 asks of a layer: docs/arithmetic-affine8.md, sections 6 and 8. */
#include "arith/float32.h"
#include "graph/affine8.h"
#include "graph/checks.h"

#define LEAST_SCALE 0x1p-40f /* of a value that is read */
#define MOST_SCALE 0x1p23f
#define MOST_LIMIT 0x1p40f

enum {
    MOST_PRODUCTS = 1 << 14,       /* of an output's sum */
    MOST_ERROR_PRODUCTS = 1 << 15, /* of the sum of an input's error */
    MOST_POSITIONS = 1 << 15,      /* of the sum of a gradient */
};

static uint32_t parameter_bytes(const graph_layer_t *layer) {
    const uint32_t channel = (uint32_t)(sizeof(int32_t) + sizeof(float));
    return graph_has_weights(layer) ? (uint32_t)sizeof(affine8_weighted_t) + layer->out_c * channel
                                    : (uint32_t)sizeof(affine8_unweighted_t);
}

static bool is_taken(const candidate_t *candidate) {
    return candidate->layer->op != OP_RELU && candidate->layer->op != OP_CAST && candidate->layer->op <= OP_MULTIPLY;
}

static bool reads(const graph_layer_t *layer, uint8_t format) {
    (void)layer;
    return format == FORMAT_AFFINE8 || format == FORMAT_TFLITE8;
}

static bool zeros_are_zero(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if ((layer->rounding == ROUNDS_DOWN) != affine8_floors(candidate->file)) {
        return false;
    }
    return !graph_has_weights(layer) ||
           (weights_are_padded(candidate) && all_zero(affine8_weighted(candidate->file, layer)->tail.none, 3));
}

bool affine8_reads_scales(const candidate_t *candidate) {
    bool allowed = true;
    for (uint8_t i = 0; i < graph_read_count(candidate->layer); i++) {
        const float scale = affine8_of_file(candidate->file, candidate->layer->reads[i]).s;
        allowed = allowed && scale >= LEAST_SCALE && scale <= MOST_SCALE;
    }
    return allowed;
}

static bool scales_are_allowed(const candidate_t *candidate) {
    const graph_file_t *file = candidate->file;
    const graph_layer_t *layer = candidate->layer;
    const float first = affine8_of_file(file, layer->reads[0]).s;
    if (!affine8_reads_scales(candidate)) {
        return false;
    }
    if (graph_has_weights(layer)) {
        const affine8_tail_t *tail = &affine8_weighted(file, layer)->tail;
        return affine8_is_weight_scale(tail->scale) && affine8_is_ratio(first * tail->scale, &tail->range);
    }
    return !is_op(candidate, OP_MULTIPLY) ||
           affine8_is_ratio(first * affine8_of_file(file, layer->reads[1]).s, &affine8_unweighted(file, layer)->range);
}

static bool biases_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const float *biases = affine8_biases(candidate->file, layer);
    bool fit = true;
    for (uint32_t o = 0; o < layer->out_c; o++) {
        fit = fit && float32_is_weight(float32_bits(biases[o]));
    }
    return fit;
}

static bool sums_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (!graph_has_weights(layer)) {
        return !is_op(candidate, OP_MULTIPLY) || positions(layer) <= MOST_POSITIONS;
    }
    return graph_wide_taps(layer) <= MOST_PRODUCTS && error_products(layer) <= MOST_ERROR_PRODUCTS &&
           positions(layer) <= MOST_POSITIONS && biases_fit(candidate);
}

static bool biases_are_folded(const candidate_t *candidate) {
    const graph_file_t *file = candidate->file;
    const graph_layer_t *layer = candidate->layer;
    if (!graph_has_weights(layer)) {
        return true;
    }
    const affine8_weighted_t *own = affine8_weighted(file, layer);
    const affine8_params_t input = affine8_of_file(file, layer->reads[0]);
    const affine8_fold_t fold = affine8_fold_of(layer, graph_weights(file, layer), &own->tail, &input);
    bool folded = true;
    for (uint32_t o = 0; o < layer->out_c; o++) {
        folded = folded && own->folded[o] == affine8_folded(&fold, o, affine8_biases(file, layer)[o]);
    }
    return folded;
}

static bool is_plus_zero(float x) {
    return float32_bits(x) == 0;
}

static bool limits_fit(const candidate_t *candidate) {
    const graph_file_t *file = candidate->file;
    const graph_layer_t *layer = candidate->layer;
    const graph_limits_t *limits = affine8_limits(file, layer);
    const float least = limits->act_min, most = limits->act_max;
    const bool none = least == -MOST_LIMIT && most == MOST_LIMIT,
               in_order = least >= -MOST_LIMIT && least <= 0.0f && most >= 0.0f && most <= MOST_LIMIT && least < most,
               minus = float32_is_minus_zero(least) || float32_is_minus_zero(most);
    if (!in_order || minus || !(none || graph_has_limits(layer))) {
        return false;
    }
    const affine8_range_t *range =
        graph_has_weights(layer) ? &affine8_weighted(file, layer)->tail.range : &affine8_unweighted(file, layer)->range;
    return graph_is_pool(layer) ? is_plus_zero(range->low) && is_plus_zero(range->high)
                                : affine8_is_range(range, limits);
}

const format_checks_t affine8_checks = {
    .number = FORMAT_AFFINE8,
    .weight_bytes = sizeof(int8_t),
    .value_bytes = sizeof(int8_t),
    .most_rounding = ROUNDS_DOWN,
    .check = {[CHECK_FORMAT] = is_taken,
              [CHECK_ZERO] = zeros_are_zero,
              [CHECK_SCALE] = scales_are_allowed,
              [CHECK_SUMS] = sums_fit,
              [CHECK_WEIGHT] = biases_are_folded,
              [CHECK_LIMITS] = limits_fit},
    .parameter_bytes = parameter_bytes,
    .reads = reads,
};
