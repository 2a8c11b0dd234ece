/* The numbers of affine8 that training moves, and what follows from them. */
#include <stddef.h>

#include "arith/float32.h"
#include "formats/affine8.h"
#include "graph/checks.h"
#include "kernels/affine8_elementwise.h"

static uint32_t padded_weights(const graph_layer_t *layer) {
    return (graph_weight_bytes(layer) + 3u) / 4u * 4u;
}

affine8_tail_t *affine8_tail(const model_t *model, uint8_t l) {
    return (affine8_tail_t *)(void *)(model_weights(model, l) + padded_weights(graph_layer(&model->file, l)));
}

affine8_range_t *affine8_range(const model_t *model, uint8_t l) {
    return graph_has_weights(graph_layer(&model->file, l)) ? &affine8_tail(model, l)->range
                                                           : (affine8_range_t *)(void *)model_range(model, l);
}

/* In a copy they follow the tail, in the file the limits. */
int32_t *affine8_folded_biases(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const bool copied = plan_at(&model->plan, PLAN_WEIGHTS, l) != PLAN_NOWHERE;
    return copied ? (int32_t *)(void *)(affine8_tail(model, l) + 1)
                  : (int32_t *)(uintptr_t)affine8_weighted(&model->file, layer)->folded;
}

float *affine8_own_biases(const model_t *model, uint8_t l) {
    return (float *)(void *)model_biases(model, l);
}

affine8_params_t affine8_value(const model_t *model, uint8_t value) {
    const uint8_t source = affine8_source(&model->file, value);
    if (source == 0 || graph_value_format(&model->file, source) != FORMAT_AFFINE8) {
        return affine8_fixed(&model->file, source);
    }
    const affine8_range_t *range = affine8_range(model, (uint8_t)(source - 1));
    return affine8_params(range->low, range->high, affine8_rounds_down(model));
}

static affine8_fold_t fold_of(const model_t *model, uint8_t l, const affine8_tail_t *tail) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const affine8_params_t input = affine8_value(model, layer->reads[0]);
    return affine8_fold_of(layer, model_weights(model, l), tail, &input);
}

static void fold_biases(const model_t *model, uint8_t l) {
    const affine8_fold_t fold = fold_of(model, l, affine8_tail(model, l));
    const float *bias = affine8_own_biases(model, l);
    int32_t *folded = affine8_folded_biases(model, l);
    for (uint32_t o = 0; o < fold.layer->out_c; o++) {
        folded[o] = affine8_folded(&fold, o, bias[o]);
    }
}

static void make_table(const model_t *model, uint8_t l) {
    affine8_table_t *table = affine8_table(model, l);
    const affine8_params_t in = affine8_value(model, graph_layer(&model->file, l)->reads[0]),
                           out = affine8_value(model, (uint8_t)(l + 1));
    affine8_hard_swish_outputs(&in, &out, affine8_rounds_down(model), table->outputs);
    if (in_set(model->training.reached, l)) {
        affine8_hard_swish_slopes(&in, table->slopes);
    }
}

void affine8_refresh(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    if (layer->format != FORMAT_AFFINE8) {
        return;
    }
    if (graph_has_weights(layer) && in_set(model->training.layers, l)) {
        fold_biases(model, l);
    } else if (layer->op == OP_HARD_SWISH && plan_at(&model->plan, AFFINE8_TABLE, l) != PLAN_NOWHERE) {
        make_table(model, l);
    }
}

/* The layer itself, and those that read its output. */
void affine8_rewritten(const model_t *model, uint8_t l, enum tensor_kind kind) {
    affine8_refresh(model, l);
    for (uint8_t other = (uint8_t)(l + 1); kind != TENSOR_BIASES && other < model->file.layers; other++) {
        if (affine8_source(&model->file, graph_layer(&model->file, other)->reads[0]) == l + 1) {
            affine8_refresh(model, other);
        }
    }
}

uint32_t affine8_range_bytes(const graph_layer_t *layer) {
    return affine8_has_range(layer) && !graph_has_weights(layer) ? sizeof(affine8_range_t) : 0;
}

/* Whether the range of a layer may be this one, `product` being what its sums are worth: s_x * s_w, or s_a * s_b. */
static bool fits(const model_t *model, uint8_t l, const affine8_range_t *range, float product) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const bool rescales = graph_has_weights(layer) || layer->op == OP_MULTIPLY;
    return affine8_is_range(range, affine8_limits(&model->file, layer)) &&
           !(rescales && !affine8_is_ratio(product, range));
}

static float product_of(const model_t *model, uint8_t l, float weight_scale) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const float first = affine8_value(model, layer->reads[0]).s;
    return first * (layer->op == OP_MULTIPLY ? affine8_value(model, layer->reads[1]).s : weight_scale);
}

static float written_f32(const written_t *written, uint32_t at) {
    return float32_from_bits(written_word(written, at));
}

/* A number of a range by itself; and the range as a whole once its last number is there, since the numbers of a tensor
   may come in pieces. */
static bool range_may_be(const model_t *model, const written_t *written, uint32_t at, uint32_t range_at,
                         float weight_scale) {
    const uint8_t l = written->tensor.layer;
    affine8_range_t range = {.low = written_f32(written, range_at),
                             .high = written_f32(written, range_at + (uint32_t)sizeof range.low)};
    if (at == range_at) {
        const graph_limits_t *limits = affine8_limits(&model->file, graph_layer(&model->file, l));
        return range.low <= 0.0f && !float32_is_minus_zero(range.low) && range.low >= limits->act_min;
    }
    return fits(model, l, &range, product_of(model, l, weight_scale));
}

bool affine8_may_be(const model_t *model, const written_t *written, uint32_t at) {
    const uint8_t l = written->tensor.layer;
    const uint32_t tail = padded_weights(graph_layer(&model->file, l));
    switch (written->tensor.kind) {
    case TENSOR_RANGE: return range_may_be(model, written, at, 0, 0.0f);
    case TENSOR_BIASES: return float32_is_weight(written_word(written, at));
    default: break;
    }
    const float scale = at >= tail ? written_f32(written, tail) : 0.0f;
    if (at == tail) {
        return affine8_is_weight_scale(scale);
    }
    const uint32_t range_at = tail + (uint32_t)offsetof(affine8_tail_t, range);
    return at < range_at || range_may_be(model, written, at, range_at, scale);
}
