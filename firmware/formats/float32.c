#include "formats/float32.h"

#include <string.h>

#include "formats/affine8.h"
#include "graph/checks.h"
#include "kernels/affine8_elementwise.h"
#include "kernels/layers_f32.h"

static void load(int8_t *values, const uint8_t *pixels, uint32_t n) {
    memcpy(values, pixels, n);
}

void float32_make_input(const model_t *model, const pass_t *pass, float *to) {
    const graph_header_t *header = graph_header(&model->file);
    scale_pixels_f32((const uint8_t *)pass->sample, (uint32_t)graph_elements(&model->file, 0), header->scale,
                     header->zero, to);
}

static void open(model_t *model, const pass_t *pass) {
    float32_make_input(model, pass, float32_buffer(model, PLAN_VALUE, 0));
}

static void run_cast(const model_t *model, const pass_t *pass, uint8_t value, uint32_t n, float *out) {
    const affine8_params_t params = affine8_value(model, value);
    affine8_cast(pass_value(model, pass, value), n, params.s, params.z, out);
}

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const limits_f32_t limits = float32_limits(model, l);
    const uint32_t outputs = graph_outputs(layer), positions = (uint32_t)layer->out_h * layer->out_w;
    const float *in = float32_buffer(model, PLAN_VALUE, layer->reads[0]);
    const float *weights = float32_weights(model, l), *bias = float32_biases(model, l);
    float *out = float32_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    switch (layer->op) {
    case OP_MAX_POOL: max_pool_f32(in, &shape, out); break;
    case OP_AVERAGE_POOL: average_pool_f32(in, &shape, out); break;
    case OP_ADD: add_f32(in, float32_buffer(model, PLAN_VALUE, layer->reads[1]), outputs, &limits, out); break;
    case OP_MULTIPLY:
        multiply_f32(in, float32_buffer(model, PLAN_VALUE, layer->reads[1]), positions, layer->out_c, out);
        break;
    case OP_HARD_SWISH: hard_swish_f32(in, outputs, out); break;
    case OP_CAST: run_cast(model, pass, layer->reads[0], outputs, out); break;
    case OP_DEPTHWISE: depthwise_f32(in, weights, bias, &shape, &limits, out); break;
    case OP_FULLY_CONNECTED: fully_connected_f32(in, weights, bias, graph_inputs(layer), outputs, &limits, out); break;
    default: conv2d_f32(in, weights, bias, &shape, &limits, out);
    }
}

static float loss(const model_t *model, const int8_t *logits, uint32_t label) {
    return softmax_loss_f32((const float *)(const void *)logits, model_classes(model), label);
}

static uint32_t predicted(const int8_t *logits, uint32_t n) {
    return argmax_f32((const float *)(const void *)logits, n);
}

static bool may_be(const model_t *model, const written_t *written, uint32_t at) {
    (void)model;
    return float32_is_weight(written_word(written, at));
}

const format_t float32 = {
    .number = FORMAT_FLOAT32,
    .label_bytes = sizeof(uint16_t),
    .stays_in_flash = true,
    .has_biases = true,
    .bias_offset = sizeof(graph_limits_t),
    .load = load,
    .open = open,
    .run = run,
    .loss = loss,
    .predicted = predicted,
    .may_be = may_be,
    .serves = SERVES_WRITE_TENSOR | SERVES_WORK,
};
