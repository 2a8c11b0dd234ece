/* The checks of a layer: docs/network.md. Those of operations are here, those of formats in checks_tflite8.c and
   checks_bfp8.c, or in the file of the format. */
#include "graph/checks.h"

#include <stddef.h>

enum { BLOCKS = 4 };

const format_checks_t *format_checks(uint8_t number) {
    const format_checks_t *const *checks = registry_checks;
    while (*checks != NULL && (*checks)->number != number) {
        checks++;
    }
    return *checks;
}

/* Whether its kernel slides over the input. */
static bool has_windows(const candidate_t *candidate) {
    return graph_is_pool(candidate->layer) ||
           (graph_has_weights(candidate->layer) && !is_op(candidate, OP_FULLY_CONNECTED));
}

static bool op_is_known(const candidate_t *candidate) {
    return candidate->layer->op >= OP_CONV2D && candidate->layer->op <= OP_MEAN;
}

/* Whether the value is there and has this shape. */
static bool value_has_shape(const candidate_t *candidate, uint8_t value, uint16_t h, uint16_t w, uint16_t c) {
    if (value == 0) {
        const graph_header_t *header = graph_header(candidate->file);
        return h == header->in_h && w == header->in_w && c == header->in_c;
    }
    if (value > candidate->index) {
        return false;
    }
    const graph_layer_t *maker = graph_layer(candidate->file, (uint8_t)(value - 1));
    return h == maker->out_h && w == maker->out_w && c == maker->out_c;
}

/* Whether it has that of the layer's input. */
static bool value_fits(const candidate_t *candidate, uint8_t value) {
    const graph_layer_t *layer = candidate->layer;
    return value_has_shape(candidate, value, layer->in_h, layer->in_w, layer->in_c);
}

static bool keeps_places(const graph_layer_t *layer) {
    return layer->out_h == layer->in_h && layer->out_w == layer->in_w;
}

static bool input_follows(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (!value_fits(candidate, layer->reads[0])) {
        return false;
    }
    if (graph_read_count(layer) == 1) {
        return layer->reads[1] == 0;
    }
    const bool second = is_op(candidate, OP_ADD) ? value_fits(candidate, layer->reads[1])
                                                 : value_has_shape(candidate, layer->reads[1], 1, 1, layer->in_c);
    return second && keeps_places(layer) && layer->out_c == layer->in_c;
}

/* The first and the last window have a position inside the image. */
static bool axis_fits(int32_t kernel, int32_t stride, int32_t padding, int32_t in, int32_t out) {
    return padding < kernel && (out - 1) * stride < in + padding;
}

static bool output_follows(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (has_windows(candidate) &&
        !(axis_fits(layer->kernel_h, layer->stride_h, layer->padding_h, layer->in_h, layer->out_h) &&
          axis_fits(layer->kernel_w, layer->stride_w, layer->padding_w, layer->in_w, layer->out_w))) {
        return false;
    }
    const bool one_position = layer->out_h == 1 && layer->out_w == 1;
    switch (layer->op) {
    case OP_FULLY_CONNECTED: return one_position;
    case OP_MEAN: return one_position && layer->out_c == layer->in_c;
    case OP_POINTWISE: return keeps_places(layer);
    case OP_RELU:
    case OP_CAST:
    case OP_HARD_SWISH:
    case OP_TABLE: return keeps_places(layer) && layer->out_c == layer->in_c;
    case OP_CONV2D: return true;
    default: return layer->out_c == layer->in_c;
    }
}

static bool window_fits(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    if (is_op(candidate, OP_POINTWISE)) {
        return layer->kernel_h == 1 && layer->kernel_w == 1 && layer->stride_h == 1 && layer->stride_w == 1 &&
               layer->padding_h == 0 && layer->padding_w == 0;
    }
    return has_windows(candidate) ? layer->stride_h > 0 && layer->stride_w > 0 : all_zero(&layer->kernel_h, 6);
}

/* A format that is known, and reads the formats of the values. */
static bool format_is_known(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const format_checks_t *format = format_checks(layer->format);
    bool known = format != NULL;
    for (uint8_t i = 0; known && i < graph_read_count(layer); i++) {
        const uint8_t read = graph_value_format(candidate->file, layer->reads[i]);
        known = format->reads != NULL ? format->reads(layer, read) : read == layer->format;
    }
    return known;
}

/* The weights, then the parameters, from where the data before end; the last layer ends where the file does. Also
   says where. */
static bool place_fits(candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const format_checks_t *format = format_checks(layer->format);
    const uint32_t parameters = format->parameter_bytes != NULL ? format->parameter_bytes(layer) : 0;
    uint64_t weights_at = 0, parameters_at = 0, end = candidate->from;
    if (graph_has_weights(layer)) {
        weights_at = end;
        end += (graph_wide_taps(layer) * layer->out_c * format->weight_bytes + 3) / 4 * 4;
    }
    if (parameters > 0) {
        parameters_at = end;
        end += parameters;
    }
    const bool is_last = candidate->index + 1 == candidate->file->layers;
    candidate->end = (uint32_t)end;
    return layer->weights_offset == weights_at && layer->parameters_offset == parameters_at &&
           (is_last ? end == candidate->file->size : end <= candidate->file->size);
}

static bool zeros_are_zero(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    const format_checks_t *format = format_checks(layer->format);
    const bool exponent = layer->weight_exponent == 0 || (graph_has_weights(layer) && format->has_exponents);
    const bool rounding = layer->rounding >= format->least_rounding && layer->rounding <= format->most_rounding;
    const bool block = graph_has_weights(layer) ? layer->block >= 1 && layer->block <= BLOCKS : layer->block == 0;
    return all_zero(layer->none, sizeof layer->none) && exponent && rounding && block;
}

static bool gives_classes(const candidate_t *candidate) {
    return candidate->index + 1 < candidate->file->layers ||
           (is_op(candidate, OP_FULLY_CONNECTED) && candidate->layer->out_c == graph_header(candidate->file)->classes);
}

static bool has_dimensions(const candidate_t *candidate) {
    const graph_layer_t *layer = candidate->layer;
    return layer->in_h > 0 && layer->in_w > 0 && layer->in_c > 0 && layer->out_h > 0 && layer->out_w > 0 &&
           layer->out_c > 0;
}

/* Those that do not depend on the format, by their number. Check 6 also finds the end of the data, and is made
   between the others. */
static const check_t common[CHECKS] = {
    [CHECK_OP] = op_is_known,        [CHECK_INPUT] = input_follows,      [CHECK_OUTPUT] = output_follows,
    [CHECK_WINDOW] = window_fits,    [CHECK_FORMAT] = format_is_known,   [CHECK_ZERO] = zeros_are_zero,
    [CHECK_CLASSES] = gives_classes, [CHECK_DIMENSION] = has_dimensions,
};

static bool passes(const candidate_t *candidate, uint32_t number) {
    if (common[number] != NULL && !common[number](candidate)) {
        return false;
    }
    const check_t own = number >= CHECK_FORMAT ? format_checks(candidate->layer->format)->check[number] : NULL;
    return own == NULL || own(candidate);
}

uint32_t graph_check_layer(const graph_file_t *file, uint8_t i, uint32_t *place) {
    candidate_t candidate = {.file = file, .layer = graph_layer(file, i), .index = i, .from = *place};
    for (uint32_t number = CHECK_OP; number < CHECKS; number++) {
        if (number == CHECK_PLACE ? !place_fits(&candidate) : !passes(&candidate, number)) {
            return number;
        }
    }
    *place = candidate.end;
    return CHECK_PASSED;
}
