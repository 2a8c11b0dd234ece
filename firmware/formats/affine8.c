#include "formats/affine8.h"

#include <stddef.h>

#include "formats/tflite8_sizes.h"
#include "kernels/affine8_elementwise.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"

uint64_t affine8_work(const graph_layer_t *layer) {
    const work_layout_t layout = work_layout(layer, (chained_t){.has_ring = false});
    if (layer->op != OP_DEPTHWISE) {
        return layout.end - layout.scratch;
    }
    const uint64_t height = (layer->out_h - 1ull) * layer->stride_h + layer->kernel_h;
    const uint64_t width = (layer->out_w - 1ull) * layer->stride_w + layer->kernel_w;
    return 2 * (height * width + (uint32_t)layer->kernel_h * layer->kernel_w) + TFLITE_SLACK;
}

static affine8_layer_t layer_of(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const affine8_tail_t *tail = affine8_tail(model, l);
    const graph_limits_t *limits = affine8_limits(&model->file, layer);
    const affine8_params_t in = affine8_value(model, layer->reads[0]), out = affine8_value(model, (uint8_t)(l + 1));
    const int32_t least = affine8_limit(limits->act_min, &out), most = affine8_limit(limits->act_max, &out);
    return (affine8_layer_t){.input_zero = in.z,
                             .weight_zero = tail->zero,
                             .output_zero = out.z,
                             .least = (int8_t)(least < INT8_MIN ? INT8_MIN : least),
                             .most = (int8_t)(most > INT8_MAX ? INT8_MAX : most),
                             .factor = affine8_factor((in.s * tail->scale) / out.s, affine8_rounds_down(model)),
                             .bias = affine8_folded_biases(model, l)};
}

static void run_with_weights(const model_t *model, uint8_t l, const int8_t *in, int8_t *out) {
    const graph_layer_t *record = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(record);
    const affine8_layer_t layer = layer_of(model, l);
    const int8_t *weights = model_weights(model, l);
    int8_t *work = model_buffer(model, PLAN_WORK, l);
    switch (record->op) {
    case OP_CONV2D: affine8_conv2d(in, weights, &shape, &layer, work, out); break;
    case OP_DEPTHWISE: affine8_depthwise(in, weights, &shape, &layer, work, out); break;
    case OP_POINTWISE: affine8_pointwise(in, weights, &shape, &layer, work, out); break;
    default:
        affine8_fully_connected(in, weights, graph_inputs(record), record->out_c, &layer, (int32_t *)(void *)work, out);
    }
}

static affine8_two_t two_of(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_limits_t *limits = affine8_limits(&model->file, layer);
    const affine8_params_t a = affine8_value(model, layer->reads[0]), b = affine8_value(model, layer->reads[1]),
                           out = affine8_value(model, (uint8_t)(l + 1));
    affine8_two_t two = {.a_zero = a.z, .b_zero = b.z, .output_zero = out.z, .least = INT8_MIN, .most = INT8_MAX};
    float scale = a.s * b.s;
    if (layer->op == OP_ADD) {
        int32_t factors[2];
        scale = affine8_common_scale(a.s, b.s, factors) * 0x1p-14f;
        two.a_factor = factors[0];
        two.b_factor = factors[1];
        const int32_t least = affine8_limit(limits->act_min, &out), most = affine8_limit(limits->act_max, &out);
        two.least = (int8_t)(least < INT8_MIN ? INT8_MIN : least);
        two.most = (int8_t)(most > INT8_MAX ? INT8_MAX : most);
    }
    two.factor = affine8_factor(scale / out.s, affine8_rounds_down(model));
    return two;
}

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const uint32_t n = graph_outputs(layer);
    const int8_t *in = pass_value(model, pass, layer->reads[0]);
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    affine8_two_t two;
    switch (layer->op) {
    case OP_MAX_POOL: tflite_max_pool_s8(in, &shape, INT8_MIN, INT8_MAX, out); break;
    case OP_AVERAGE_POOL: affine8_average_pool(in, &shape, affine8_rounds_down(model), out); break;
    case OP_HARD_SWISH: affine8_look_up(in, n, affine8_table(model, l)->outputs, out); break;
    case OP_ADD:
        two = two_of(model, l);
        affine8_add(in, pass_value(model, pass, layer->reads[1]), n, &two, out);
        break;
    case OP_MULTIPLY:
        two = two_of(model, l);
        affine8_multiply(in, pass_value(model, pass, layer->reads[1]), (uint32_t)layer->out_h * layer->out_w,
                         layer->out_c, &two, out);
        break;
    default: run_with_weights(model, l, in, out);
    }
}

static float loss(const model_t *model, const int8_t *logits, uint32_t label) {
    return cross_entropy_scaled_f32(logits, model_classes(model), affine8_value(model, model->file.layers).s, label);
}

const format_t affine8 = {
    .number = FORMAT_AFFINE8,
    .label_bytes = sizeof(uint16_t),
    .stays_in_flash = true,
    .has_biases = true,
    .bias_offset = sizeof(affine8_weighted_t),
    .bias_step = sizeof(int32_t),
    .tail_bytes = sizeof(affine8_tail_t),
    .channel_bytes = sizeof(int32_t),
    .load = centre_pixels_s8,
    .run = run,
    .loss = loss,
    .predicted = argmax_s8,
    .may_be = affine8_may_be,
    .rewritten = affine8_rewritten,
    .range_bytes = affine8_range_bytes,
    .serves = SERVES_WRITE_TENSOR | SERVES_WORK,
};
