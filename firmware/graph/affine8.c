#include "graph/affine8.h"

#include "arith/float32.h"
#include "graph/checks.h"
#include "kernels/affine8.h"

#define LEAST_WEIGHT_SCALE 0x1p-28f
#define MOST_WEIGHT_SCALE 0x1p14f
#define MOST_RATIO 0x1.01p+0f
#define MOST_BIAS 0x1p29f /* in steps */
#define LEAST_WIDTH 0x1p-20f
#define MOST_WIDTH 0x1p30f

bool affine8_floors(const graph_file_t *file) {
    uint8_t first = 0;
    while (first < file->layers && graph_layer(file, first)->format != FORMAT_AFFINE8) {
        first++;
    }
    return first < file->layers && graph_layer(file, first)->rounding == ROUNDS_DOWN;
}

uint8_t affine8_source(const graph_file_t *file, uint8_t value) {
    while (value > 0 && graph_value_format(file, value) == FORMAT_AFFINE8 &&
           graph_is_pool(graph_layer(file, (uint8_t)(value - 1)))) {
        value = graph_layer(file, (uint8_t)(value - 1))->reads[0];
    }
    return value;
}

affine8_params_t affine8_fixed(const graph_file_t *file, uint8_t source) {
    const float scale = graph_scale(file, source);
    return (affine8_params_t){.s = scale, .j = 1.0f / scale, .z = graph_zero(file, source)};
}

affine8_params_t affine8_of_file(const graph_file_t *file, uint8_t value) {
    const uint8_t source = affine8_source(file, value);
    if (source == 0 || graph_value_format(file, source) != FORMAT_AFFINE8) {
        return affine8_fixed(file, source);
    }
    const graph_layer_t *maker = graph_layer(file, (uint8_t)(source - 1));
    const affine8_range_t *range =
        graph_has_weights(maker) ? &affine8_weighted(file, maker)->tail.range : &affine8_unweighted(file, maker)->range;
    return affine8_params(range->low, range->high, affine8_floors(file));
}

affine8_fold_t affine8_fold_of(const graph_layer_t *layer, const int8_t *weights, const affine8_tail_t *tail,
                               const affine8_params_t *input) {
    return (affine8_fold_t){.layer = layer,
                            .weights = weights,
                            .j = 1.0f / (input->s * tail->scale),
                            .weight_zero = tail->zero,
                            .input_zero = input->z};
}

int32_t affine8_folded(const affine8_fold_t *fold, uint32_t channel, float bias) {
    const graph_layer_t *layer = fold->layer;
    const bool depthwise = layer->op == OP_DEPTHWISE;
    const uint32_t taps = graph_taps(layer);
    const float steps = bias * fold->j, raised = steps < -MOST_BIAS ? -MOST_BIAS : steps;
    int32_t folded = affine8_round(raised > MOST_BIAS ? MOST_BIAS : raised, false);
    affine8_fold_bias(&folded, fold->weights + channel * (depthwise ? 1 : taps), fold->weight_zero, taps,
                      depthwise ? layer->out_c : 1, 1, 0, fold->input_zero, &folded);
    return folded;
}

bool affine8_is_weight_scale(float scale) {
    return scale >= LEAST_WEIGHT_SCALE && scale <= MOST_WEIGHT_SCALE;
}

bool affine8_is_ratio(float product, const affine8_range_t *range) {
    return !(product / affine8_scale(range) > MOST_RATIO);
}

bool affine8_is_range(const affine8_range_t *range, const graph_limits_t *limits) {
    const float low = range->low, high = range->high, width = high - low;
    return low <= 0.0f && high >= 0.0f && !float32_is_minus_zero(low) && !float32_is_minus_zero(high) &&
           width >= LEAST_WIDTH && width <= MOST_WIDTH && low >= limits->act_min;
}
