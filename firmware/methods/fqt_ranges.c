/* Where the ranges of values go at the end of a step: docs/arithmetic-fqt.md, section 7. */
#include "methods/fqt.h"

#define LEAST_WIDTH 0x1p-20f
#define STEPS 255.0f

static float larger(float a, float b) {
    return a > b ? a : b;
}

static float smaller(float a, float b) {
    return a < b ? a : b;
}

/* The scale of a value, where that of its source has been moved. */
static float moved_scale(const model_t *model, uint8_t value, const fqt_moved_t *moved) {
    const uint8_t source = affine8_source(&model->file, value);
    const bool moves = source > 0 && fqt_is_observed(model, (uint8_t)(source - 1));
    return moves ? affine8_scale(&moved[source - 1].range) : affine8_value(model, value).s;
}

/* W: a range may not be narrower, since the sums would not rescale to it. */
static float least_width(const model_t *model, uint8_t l, const fqt_moved_t *moved) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const float first = moved_scale(model, layer->reads[0], moved);
    if (graph_has_weights(layer)) {
        return larger(STEPS * (first * moved[l].weight_scale), LEAST_WIDTH);
    }
    if (layer->op == OP_HARD_SWISH) {
        return LEAST_WIDTH;
    }
    const float second = moved_scale(model, layer->reads[1], moved);
    const float step = layer->op == OP_MULTIPLY ? first * second : larger(first, second) * 0x1p-14f;
    return larger(STEPS * step, LEAST_WIDTH);
}

/* One end of a range: it grows where a value reached it, else it follows what was seen. */
static float moved_end(const fqt_settings_t *settings, float end, float growth, bool reached, float seen) {
    const float step = settings->range_momentum * (seen - end);
    return reached ? end + growth : end + step;
}

affine8_range_t fqt_moved_range(const model_t *model, uint8_t l, const fqt_moved_t *moved) {
    const fqt_settings_t *settings = fqt_settings(model);
    const graph_limits_t *limits = affine8_limits(&model->file, graph_layer(&model->file, l));
    const affine8_range_t *range = affine8_range(model, l);
    const affine8_params_t params = affine8_value(model, (uint8_t)(l + 1));
    const int8_t *seen = fqt_observed(model, l);
    const float growth = settings->range_growth * (range->high - range->low);
    const float above = moved_end(settings, range->high, growth, seen[1] == INT8_MAX,
                                  params.s * (float)(seen[1] - params.z)),
                below = moved_end(settings, range->low, -growth, seen[0] == INT8_MIN,
                                  params.s * (float)(seen[0] - params.z));
    affine8_range_t to = {.low = larger(smaller(below, 0.0f), limits->act_min),
                          .high = smaller(larger(above, 0.0f), limits->act_max)};
    const float least = least_width(model, l, moved);
    if (to.high - to.low < least) {
        to.high = to.low + least;
    }
    return to;
}
