/* The checks of a layer: docs/network-tflite.md. */
#include "graph/checks.h"

#include "graph/file.h"

#define LARGEST_BIAS (INT32_C(1) << 30)
#define LEAST_MULTIPLIER (INT32_C(1) << 30)

enum {
    MOST_PRODUCTS = 1 << 15,       /* behind an output */
    MOST_ERROR_PRODUCTS = 1 << 17, /* behind the error of an input */
    MOST_POSITIONS = 1 << 16,
    LEAST_SHIFT = -31,
    MOST_SHIFT = 30,
    BLOCKS = 4,
    PARAMETER_BYTES = 16, /* of a channel, without its shift */
};

typedef struct {
    const graph_file_t *file;
    const graph_layer_t *layer;
    uint8_t index;
    uint32_t from, end; /* of its weights and parameters in the file; `end` once they are known to be inside */
} candidate_t;

static bool is_op(const candidate_t *candidate, enum graph_op op) {
    return candidate->layer->op == op;
}

static bool wants_weights(const candidate_t *candidate) {
    return is_op(candidate, GRAPH_CONV2D) || is_op(candidate, GRAPH_FULLY_CONNECTED) || is_op(candidate, GRAPH_DEPTHWISE) ||
           is_op(candidate, GRAPH_POINTWISE);
}

static bool is_pool(const candidate_t *candidate) {
    return is_op(candidate, GRAPH_MAX_POOL) || is_op(candidate, GRAPH_AVERAGE_POOL);
}

/* Whether its kernel slides over the input. */
static bool has_windows(const candidate_t *candidate) {
    return is_pool(candidate) || (wants_weights(candidate) && !is_op(candidate, GRAPH_FULLY_CONNECTED));
}

static bool op_is_known(const candidate_t *candidate) {
    return wants_weights(candidate) || is_pool(candidate) || is_op(candidate, GRAPH_ADD);
}

static uint32_t round_up_4(uint32_t n) {
    return (n + 3u) / 4u * 4u;
}

static bool all_zero(const uint8_t *bytes, uint32_t n) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

/* Whether the value is there and has the shape of the layer's input. */
static bool value_fits(const candidate_t *candidate, uint8_t value) {
    const graph_layer_t *layer = candidate->layer;
    if (value == 0) {
        const graph_header_t *header = graph_header(candidate->file);
        return layer->in_h == header->in_h && layer->in_w == header->in_w && layer->in_c == header->in_c;
    }
    if (value > candidate->index) {
        return false;
    }
    const graph_layer_t *maker = graph_layer(candidate->file, (uint8_t)(value - 1));
    return layer->in_h == maker->out_h && layer->in_w == maker->out_w && layer->in_c == maker->out_c;
}

static bool keeps_places(const graph_layer_t *layer) {
    return layer->out_h == layer->in_h && layer->out_w == layer->in_w;
}

static bool input_follows(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (!value_fits(candidate, layer->reads[0])) {
        return false;
    }
    if (!is_op(candidate, GRAPH_ADD)) {
        return layer->reads[1] == 0;
    }
    return value_fits(candidate, layer->reads[1]) && keeps_places(layer) && layer->out_c == layer->in_c;
}

static bool axis_fits(const graph_layer_t *layer, int32_t kernel, int32_t in, int32_t out) {
    const int32_t last = (out - 1) * layer->stride, padding = layer->padding;
    return padding < kernel && last < in + padding && last + kernel <= in + 2 * padding + 1;
}

static bool output_follows(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (has_windows(candidate) && !(axis_fits(layer, layer->kernel_h, layer->in_h, layer->out_h) &&
                                    axis_fits(layer, layer->kernel_w, layer->in_w, layer->out_w))) {
        return false;
    }
    switch (layer->op) {
    case GRAPH_FULLY_CONNECTED: return layer->out_h == 1 && layer->out_w == 1;
    case GRAPH_POINTWISE: return keeps_places(layer);
    case GRAPH_CONV2D:
    case GRAPH_ADD: return true;
    default: return layer->out_c == layer->in_c;
    }
}

static bool kernel_fits(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (is_op(candidate, GRAPH_POINTWISE)) {
        return layer->kernel_h == 1 && layer->kernel_w == 1 && layer->stride == 1 && layer->padding == 0;
    }
    return has_windows(candidate) ? layer->stride > 0 : all_zero(&layer->kernel_h, 4);
}

/* Products behind one output. */
static uint64_t products(const graph_layer_t *layer) {
    const uint64_t window = (uint64_t)layer->kernel_h * layer->kernel_w;
    switch (layer->op) {
    case GRAPH_DEPTHWISE: return window;
    case GRAPH_FULLY_CONNECTED: return (uint64_t)layer->in_h * layer->in_w * layer->in_c;
    default: return window * layer->in_c;
    }
}

/* Products behind the error of one input. */
static uint64_t error_products(const graph_layer_t *layer) {
    const uint64_t window = (uint64_t)layer->kernel_h * layer->kernel_w;
    switch (layer->op) {
    case GRAPH_DEPTHWISE: return window;
    case GRAPH_FULLY_CONNECTED: return layer->out_c;
    default: return window * layer->out_c;
    }
}

static bool counts_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (!wants_weights(candidate)) {
        return layer->channels == 0 && layer->weights == 0;
    }
    return layer->channels == layer->out_c && layer->weights == products(layer) * layer->out_c;
}

/* The weights, then the parameters, from where the layer before ends; the last layer ends where the file does. */
static bool place_fits(candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    uint64_t end = candidate->from;
    if (wants_weights(candidate)) {
        end += ((uint64_t)layer->weights + 3) / 4 * 4;
        if (layer->weights_offset != candidate->from || layer->parameters_offset != end) {
            return false;
        }
        end += (uint64_t)layer->channels * PARAMETER_BYTES + round_up_4(layer->channels);
    } else if (layer->weights_offset != 0 || layer->parameters_offset != 0) {
        return false;
    }
    const bool last = candidate->index + 1 == candidate->file->layers;
    candidate->end = (uint32_t)end;
    return last ? end == candidate->file->size : end <= candidate->file->size;
}

static bool zeros_are_zero(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const uint8_t *bytes = candidate->file->bytes;
    const bool factors = is_op(candidate, GRAPH_ADD) || (all_zero((const uint8_t *)layer->add_multiplier, sizeof layer->add_multiplier) &&
                                                         all_zero((const uint8_t *)layer->add_shift, sizeof layer->add_shift));
    if (layer->none != 0 || !all_zero(layer->nothing, sizeof layer->nothing) || !factors) {
        return false;
    }
    if (!wants_weights(candidate)) {
        return layer->block == 0;
    }
    const uint32_t weights_end = layer->weights_offset + layer->weights, shifts = round_up_4(layer->channels) - layer->channels;
    return layer->block >= 1 && layer->block <= BLOCKS && all_zero(bytes + weights_end, layer->parameters_offset - weights_end) &&
           all_zero(bytes + candidate->end - shifts, shifts);
}

static bool gives_classes(const candidate_t *candidate) {
    return candidate->index + 1 < candidate->file->layers ||
           (is_op(candidate, GRAPH_FULLY_CONNECTED) && candidate->layer->out_c == graph_header(candidate->file)->classes);
}

static bool scales_are_allowed(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    bool allowed = scale_is_allowed(layer->scale);
    for (uint32_t o = 0; o < layer->channels; o++) {
        allowed = allowed && scale_is_allowed(graph_parameters(candidate->file, layer).scale[o]);
    }
    return allowed;
}

static bool has_dimensions(const graph_layer_t *layer) {
    return layer->in_h > 0 && layer->in_w > 0 && layer->in_c > 0 && layer->out_h > 0 && layer->out_w > 0 && layer->out_c > 0;
}

static bool factor_fits(int32_t multiplier, int32_t shift, int32_t most_shift) {
    return multiplier >= LEAST_MULTIPLIER && shift >= LEAST_SHIFT && shift <= most_shift;
}

/* Nothing leaves int32: docs/arithmetic-tflite.md, sections 3 and 5. */
static bool sums_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const graph_parameters_t own = graph_parameters(candidate->file, layer);
    bool fit = (uint32_t)layer->out_h * layer->out_w <= MOST_POSITIONS;
    if (wants_weights(candidate)) {
        fit = fit && products(layer) <= MOST_PRODUCTS && error_products(layer) <= MOST_ERROR_PRODUCTS;
    }
    for (uint32_t o = 0; o < layer->channels; o++) {
        fit = fit && own.bias[o] >= -LARGEST_BIAS && own.bias[o] <= LARGEST_BIAS && factor_fits(own.multiplier[o], own.shift[o], MOST_SHIFT);
    }
    for (uint32_t i = 0; is_op(candidate, GRAPH_ADD) && i < 3; i++) {
        fit = fit && factor_fits(layer->add_multiplier[i], layer->add_shift[i], 0);
    }
    return fit;
}

static bool weights_are_allowed(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const int8_t *weights = graph_weights(candidate->file, layer);
    const uint32_t taps = layer->channels > 0 ? graph_taps(layer) : 0;
    const bool depthwise = is_op(candidate, GRAPH_DEPTHWISE);
    for (uint32_t o = 0; o < layer->channels; o++) {
        int32_t sum = 0;
        for (uint32_t t = 0; t < taps; t++) {
            const int8_t weight = depthwise ? weights[t * layer->channels + o] : weights[o * taps + t];
            if (weight == INT8_MIN) {
                return false;
            }
            sum += weight;
        }
        if (sum != graph_parameters(candidate->file, layer).sum[o]) {
            return false;
        }
    }
    return true;
}

static bool limits_fit(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const uint8_t value = layer->reads[0];
    const bool same = layer->zero == graph_zero(candidate->file, value) && layer->scale == graph_scale(candidate->file, value);
    return layer->act_min <= layer->act_max && (!is_pool(candidate) || same);
}

/* What can be asked before it is known where weights and parameters are. */
static enum graph_check check_record(candidate_t *candidate) {
    if (!op_is_known(candidate)) {
        return CHECK_OP;
    }
    if (!input_follows(candidate)) {
        return CHECK_INPUT;
    }
    if (!output_follows(candidate)) {
        return CHECK_OUTPUT;
    }
    if (!kernel_fits(candidate)) {
        return CHECK_KERNEL;
    }
    if (!counts_fit(candidate)) {
        return CHECK_COUNT;
    }
    return place_fits(candidate) ? CHECK_PASSED : CHECK_PLACE;
}

static enum graph_check check_contents(const candidate_t *candidate) {
    if (!zeros_are_zero(candidate)) {
        return CHECK_ZERO;
    }
    if (!gives_classes(candidate)) {
        return CHECK_CLASSES;
    }
    if (!scales_are_allowed(candidate)) {
        return CHECK_SCALE;
    }
    if (!has_dimensions(candidate->layer)) {
        return CHECK_DIMENSION;
    }
    if (!sums_fit(candidate)) {
        return CHECK_SUMS;
    }
    if (!weights_are_allowed(candidate)) {
        return CHECK_WEIGHT;
    }
    return limits_fit(candidate) ? CHECK_PASSED : CHECK_LIMITS;
}

uint32_t graph_check_layer(const graph_file_t *file, uint8_t i, uint32_t *place) {
    candidate_t candidate = {.file = file, .layer = graph_layer(file, i), .index = i, .from = *place};
    const enum graph_check check = check_record(&candidate);
    *place = candidate.end;
    return check == CHECK_PASSED ? check_contents(&candidate) : check;
}
