#include "formats/w16a8.h"

#include <stddef.h>

#include "arith/integers.h"
#include "formats/tflite8.h"
#include "kernels/elementwise.h"
#include "kernels/losses.h"
#include "kernels/w16a8.h"

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

static void run_with_weights(const model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *record = graph_layer(&model->file, l);
    const int8_t *in = pass_value(model, pass, record->reads[0]);
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
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

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    if (graph_has_weights(graph_layer(&model->file, l))) {
        run_with_weights(model, pass, l);
    } else {
        tflite8_run_unweighted(model, pass, l);
    }
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
    .load = centre_pixels_s8,
    .run = run,
    .loss = tflite8_loss,
    .predicted = argmax_s8,
    .may_be = may_be,
    .serves = SERVES_WRITE_TENSOR | SERVES_WORK,
};
