#include "formats/w16a8.h"

#include <stddef.h>
#include <string.h>

#include "arith/bits.h"
#include "kernels/elementwise.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "kernels/w16a8.h"

enum { MIDDLE = 128 /* the pixel that becomes 0 */ };

uint64_t w16a8_work(const graph_layer_t *layer) {
    const layer_shape_t shape = graph_shape(layer);
    switch (layer->op) {
    case OP_CONV2D:
    case OP_POINTWISE: return w16a8_conv2d_scratch(&shape);
    case OP_FULLY_CONNECTED: return w16a8_fully_connected_scratch(graph_taps(layer));
    default: return 0;
    }
}

static w16a8_layer_t layer_of(const model_t *model, uint8_t l) {
    const w16a8_parameters_t *parameters = w16a8_parameters(&model->file, l);
    return (w16a8_layer_t){.input_zero = graph_zero(&model->file, graph_layer(&model->file, l)->reads[0]),
                           .output_zero = parameters->output.zero,
                           .act_min = parameters->output.act_min,
                           .act_max = parameters->output.act_max,
                           .multiplier = parameters->multiplier,
                           .shift = parameters->shift,
                           .bias = model_biases(model, l)};
}

static void run_with_weights(const model_t *model, uint8_t l, const int8_t *in, int8_t *out) {
    const graph_layer_t *record = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(record);
    const w16a8_layer_t layer = layer_of(model, l);
    const int16_t *weights = (const int16_t *)(const void *)model_weights(model, l);
    if (record->op == OP_DEPTHWISE) {
        w16a8_depthwise(in, weights, &shape, &layer, out);
        return;
    }
    int16_t *scratch = (int16_t *)(void *)model_buffer(model, PLAN_WORK, l);
    if (record->op == OP_FULLY_CONNECTED) {
        w16a8_fully_connected(in, weights, graph_taps(record), record->out_c, &layer, scratch, out);
    } else {
        w16a8_conv2d(in, weights, &shape, &layer, scratch, out);
    }
}

static tflite_operand_t operand(const graph_factors_t *factors, uint32_t i, int8_t zero) {
    return (tflite_operand_t){.multiplier = factors->multiplier[i], .shift = factors->shift[i], .zero = zero};
}

static void run_add(const model_t *model, const graph_layer_t *layer, const int8_t *a, const int8_t *b, int8_t *out) {
    const graph_file_t *file = &model->file;
    const graph_output_t *output = graph_output(file, layer);
    const graph_factors_t *factors = graph_factors(file, layer);
    const tflite_add_t add = {.a = operand(factors, 0, graph_zero(file, layer->reads[0])),
                              .b = operand(factors, 1, graph_zero(file, layer->reads[1])),
                              .out = operand(factors, 2, output->zero),
                              .act_min = output->act_min,
                              .act_max = output->act_max,
                              .single = true};
    tflite_add_s8(a, b, graph_outputs(layer), &add, out);
}

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const layer_shape_t shape = graph_shape(layer);
    const int8_t *in = pass_value(model, pass, layer->reads[0]);
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    switch (layer->op) {
    case OP_MAX_POOL: tflite_max_pool_s8(in, &shape, output->act_min, output->act_max, out); break;
    case OP_AVERAGE_POOL: tflite_average_pool_s8(in, &shape, output->act_min, output->act_max, out); break;
    case OP_ADD: run_add(model, layer, in, pass_value(model, pass, layer->reads[1]), out); break;
    default: run_with_weights(model, l, in, out);
    }
}

static void load(int8_t *values, const uint8_t *pixels, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (int8_t)(pixels[i] - MIDDLE);
    }
}

static float loss(const model_t *model, const int8_t *logits, uint32_t label) {
    return cross_entropy_scaled_f32(logits, model_classes(model), graph_scale(&model->file, model->file.layers), label);
}

static bool may_be(const model_t *model, const written_t *written, uint32_t at) {
    int16_t weight;
    if (written->tensor.kind == TENSOR_WEIGHTS) {
        written_value(written, at, &weight, sizeof weight);
        return magnitude(weight) <= w16a8_parameters(&model->file, written->tensor.layer)->largest;
    }
    return magnitude((int32_t)written_word(written, at)) <= W16A8_LARGEST_BIAS;
}

const format_t w16a8 = {
    .number = FORMAT_W16A8,
    .label_bytes = sizeof(uint16_t),
    .stays_in_flash = true,
    .has_biases = true,
    .bias_offset = offsetof(w16a8_parameters_t, bias),
    .load = load,
    .run = run,
    .loss = loss,
    .predicted = argmax_s8,
    .may_be = may_be,
    .serves = SERVES_WRITE_TENSOR | SERVES_WORK,
};
