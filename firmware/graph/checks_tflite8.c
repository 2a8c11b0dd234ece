/* What tflite8 requires of a layer: docs/network.md. */
#include "graph/checks.h"

#define LARGEST_BIAS (INT32_C(1) << 30)
#define LEAST_MULTIPLIER (INT32_C(1) << 30)
#define LEAST_OF_MEAN (INT32_C(1) << 29) /* as TFLite divides by the positions */

enum {
    MOST_PRODUCTS = 1 << 15,       /* of an output's sum */
    MOST_ERROR_PRODUCTS = 1 << 17, /* of the sum of an input's error */
    MOST_POSITIONS = 1 << 16,
    LEAST_SHIFT = -31,
    MOST_SHIFT = 30,
    PARAMETER_BYTES = 16, /* of a channel, without its shift */
};

static uint32_t parameter_bytes(const graph_layer_t *layer) {
    const uint32_t bytes = sizeof(graph_output_t);
    switch (layer->op) {
    case OP_ADD: return bytes + (uint32_t)sizeof(graph_factors_t);
    case OP_MEAN: return bytes + (uint32_t)sizeof(graph_mean_t);
    case OP_TABLE: return bytes + GRAPH_TABLE_ENTRIES;
    case OP_MAX_POOL:
    case OP_AVERAGE_POOL: return bytes;
    default: return bytes + layer->out_c * (uint32_t)PARAMETER_BYTES + round_up_4(layer->out_c);
    }
}

static bool is_taken(const candidate_t *candidate) {
    const uint8_t op = candidate->layer->op;
    return op != OP_RELU && (op <= OP_ADD || op == OP_TABLE || op == OP_MEAN);
}

static bool zeros_are_zero(const candidate_t *candidate) {
    const graph_file_t *file = candidate->file;
    const graph_layer_t *layer = candidate->layer;
    const uint32_t shifts = round_up_4(graph_channels(layer)) - graph_channels(layer);
    const bool own = layer->op == OP_ADD    ? graph_factors(file, layer)->none == 0
                     : layer->op == OP_MEAN ? all_zero(graph_mean(file, layer)->none, 3)
                                            : true;
    return graph_output(file, layer)->none == 0 && own && weights_are_padded(candidate) &&
           all_zero(file->bytes + candidate->end - shifts, shifts);
}

static bool scales_are_allowed(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const uint32_t channels = graph_channels(layer);
    bool allowed = scale_is_allowed(graph_output(candidate->file, layer)->scale);
    for (uint32_t o = 0; o < channels; o++) {
        allowed = allowed && scale_is_allowed(graph_parameters(candidate->file, layer).scale[o]);
    }
    return allowed;
}

bool tflite8_factor_fits(int32_t multiplier, int32_t shift, int32_t most_shift) {
    return multiplier >= LEAST_MULTIPLIER && shift >= LEAST_SHIFT && shift <= most_shift;
}

bool tflite8_factors_fit(const graph_factors_t *factors) {
    bool fit = true;
    for (uint32_t i = 0; i < 3; i++) {
        fit = fit && tflite8_factor_fits(factors->multiplier[i], factors->shift[i], 0);
    }
    return fit;
}

static bool mean_fits(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const graph_mean_t *mean = graph_mean(candidate->file, layer);
    return (uint64_t)layer->in_h * layer->in_w <= MOST_POSITIONS && mean->multiplier >= LEAST_OF_MEAN &&
           mean->shift >= LEAST_SHIFT && mean->shift <= MOST_SHIFT;
}

/* Nothing leaves int32: docs/arithmetic-tflite.md, sections 3 and 5. */
static bool sums_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (positions(layer) > MOST_POSITIONS ||
        (layer->op == OP_ADD && !tflite8_factors_fit(graph_factors(candidate->file, layer))) ||
        (layer->op == OP_MEAN && !mean_fits(candidate))) {
        return false;
    }
    if (!graph_has_weights(layer)) {
        return true;
    }
    const graph_parameters_t own = graph_parameters(candidate->file, layer);
    bool fit = graph_wide_taps(layer) <= MOST_PRODUCTS && error_products(layer) <= MOST_ERROR_PRODUCTS;
    for (uint32_t o = 0; o < layer->out_c; o++) {
        fit = fit && own.bias[o] >= -LARGEST_BIAS && own.bias[o] <= LARGEST_BIAS &&
              tflite8_factor_fits(own.multiplier[o], own.shift[o], MOST_SHIFT);
    }
    return fit;
}

/* Whether no weight of a channel is -128, and their sum is the one that is written. */
static bool channel_is_allowed(const candidate_t *candidate, uint32_t channel) {
    const graph_layer_t *layer = candidate->layer;
    const int8_t *weights = graph_weights(candidate->file, layer);
    const uint32_t taps = graph_taps(layer);
    const bool depthwise = layer->op == OP_DEPTHWISE;
    int32_t sum = 0;
    for (uint32_t t = 0; t < taps; t++) {
        const int8_t weight = depthwise ? weights[t * layer->out_c + channel] : weights[channel * taps + t];
        if (weight == INT8_MIN) {
            return false;
        }
        sum += weight;
    }
    return sum == graph_parameters(candidate->file, layer).sum[channel];
}

static bool weights_are_allowed(const candidate_t *candidate) {
    const uint32_t channels = graph_channels(candidate->layer);
    for (uint32_t o = 0; o < channels; o++) {
        if (!channel_is_allowed(candidate, o)) {
            return false;
        }
    }
    return true;
}

bool tflite8_limits_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const graph_output_t *output = graph_output(candidate->file, layer);
    const uint8_t value = layer->reads[0];
    const bool same =
        output->zero == graph_zero(candidate->file, value) && output->scale == graph_scale(candidate->file, value);
    const bool none = output->act_min == INT8_MIN && output->act_max == INT8_MAX;
    return output->act_min <= output->act_max && (same || !graph_is_pool(layer)) && (none || layer->op != OP_TABLE);
}

const format_checks_t tflite8_checks = {
    .number = FORMAT_TFLITE8,
    .weight_bytes = sizeof(int8_t),
    .value_bytes = sizeof(int8_t),
    .most_rounding = ROUNDS_SINGLE,
    .check = {[CHECK_FORMAT] = is_taken,
              [CHECK_ZERO] = zeros_are_zero,
              [CHECK_SCALE] = scales_are_allowed,
              [CHECK_SUMS] = sums_fit,
              [CHECK_WEIGHT] = weights_are_allowed,
              [CHECK_LIMITS] = tflite8_limits_fit},
    .parameter_bytes = parameter_bytes,
};
