/* What w16a8 asks of a layer: docs/arithmetic-w16a8.md, sections 3 and 4. */
#include "arith/integers.h"
#include "formats/w16a8.h"
#include "graph/checks.h"

enum {
    MOST_PRODUCTS = 1 << 15, /* behind an output */
    MOST_POSITIONS = 1 << 16,
    MOST_SHIFT = -2,        /* of a layer with weights */
    SATURATING_SHIFT = -22, /* from here on a sum that saturates changes no output */
};

static uint32_t parameter_bytes(const graph_layer_t *layer) {
    if (layer->op == OP_ADD) {
        return (uint32_t)(sizeof(graph_output_t) + sizeof(graph_factors_t));
    }
    return graph_has_weights(layer) ? (uint32_t)(sizeof(w16a8_parameters_t) + layer->out_c * sizeof(int32_t))
                                    : (uint32_t)sizeof(graph_output_t);
}

static bool is_taken(const candidate_t *candidate) {
    return candidate->layer->op != OP_RELU && candidate->layer->op <= OP_ADD;
}

static const w16a8_parameters_t *parameters_of(const candidate_t *candidate) {
    return w16a8_parameters(candidate->file, candidate->index);
}

static bool zeros_are_zero(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const bool own = graph_has_weights(layer) ? parameters_of(candidate)->none == 0 && weights_are_padded(candidate)
                                              : layer->op != OP_ADD || graph_factors(candidate->file, layer)->none == 0;
    return graph_output(candidate->file, layer)->none == 0 && own;
}

/* The scale of the input is that of the header, or of a layer before. */
static bool scales_are_allowed(const candidate_t *candidate) {
    const bool own = !graph_has_weights(candidate->layer) || scale_is_allowed(parameters_of(candidate)->scale);
    return own && scale_is_allowed(graph_output(candidate->file, candidate->layer)->scale);
}

/* Whether saturation of the sums changes no output, whatever the weights. */
static bool sums_are_bounded(const candidate_t *candidate) {
    const w16a8_parameters_t *parameters = parameters_of(candidate);
    const int32_t zero = graph_zero(candidate->file, candidate->layer->reads[0]), below = 127 - zero,
                  above = 128 + zero, distance = below > above ? below : above;
    const uint64_t products = graph_wide_taps(candidate->layer);
    const uint64_t largest = products * parameters->largest * (uint32_t)distance;
    return products <= MOST_PRODUCTS &&
           (largest + W16A8_LARGEST_BIAS <= INT32_MAX || parameters->shift >= SATURATING_SHIFT);
}

static bool biases_fit(const candidate_t *candidate) {
    bool fit = true;
    for (uint32_t o = 0; o < candidate->layer->out_c; o++) {
        fit = fit && magnitude(parameters_of(candidate)->bias[o]) <= W16A8_LARGEST_BIAS;
    }
    return fit;
}

static bool sums_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (positions(layer) > MOST_POSITIONS ||
        (layer->op == OP_ADD && !tflite8_factors_fit(graph_factors(candidate->file, layer)))) {
        return false;
    }
    if (!graph_has_weights(layer)) {
        return true;
    }
    const w16a8_parameters_t *parameters = parameters_of(candidate);
    return tflite8_factor_fits(parameters->multiplier, parameters->shift, MOST_SHIFT) && sums_are_bounded(candidate) &&
           biases_fit(candidate);
}

static bool weights_are_allowed(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const uint32_t n = graph_weight_count(layer); /* 0 without weights */
    if (n == 0) {
        return true;
    }
    const int16_t *weights = (const int16_t *)(const void *)graph_weights(candidate->file, layer);
    const uint32_t largest = parameters_of(candidate)->largest;
    bool allowed = largest == W16A8_WIDE || largest == W16A8_NARROW;
    for (uint32_t i = 0; i < n; i++) {
        allowed = allowed && magnitude(weights[i]) <= largest;
    }
    return allowed;
}

const format_checks_t w16a8_checks = {
    .number = FORMAT_W16A8,
    .weight_bytes = sizeof(int16_t),
    .value_bytes = sizeof(int8_t),
    .least_rounding = ROUNDS_SINGLE,
    .most_rounding = ROUNDS_SINGLE,
    .check = {[CHECK_FORMAT] = is_taken,
              [CHECK_ZERO] = zeros_are_zero,
              [CHECK_SCALE] = scales_are_allowed,
              [CHECK_SUMS] = sums_fit,
              [CHECK_WEIGHT] = weights_are_allowed,
              [CHECK_LIMITS] = tflite8_limits_fit},
    .parameter_bytes = parameter_bytes,
};
