#include "formats/float32.h"
#include "kernels/layers_f32.h"

void float32_logits_error(const model_t *model, uint16_t label) {
    const uint8_t n = model->file.layers;
    softmax_error_f32(float32_buffer(model, PLAN_VALUE, n), model_classes(model), label,
                      float32_buffer(model, PLAN_ERROR, n));
}

void float32_gate(const model_t *model, uint8_t l) {
    const uint8_t y = (uint8_t)(l + 1);
    const limits_f32_t limits = float32_limits(model, l);
    gate_f32(float32_buffer(model, PLAN_VALUE, y), graph_outputs(graph_layer(&model->file, l)), &limits,
             float32_buffer(model, PLAN_ERROR, y));
}

void float32_input_error(const model_t *model, uint8_t l, uint8_t read, bool further, const kept_f32_t *kept) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const uint8_t value = layer->reads[read];
    const float *error = float32_buffer(model, PLAN_ERROR, (uint8_t)(l + 1)), *weights = float32_weights(model, l);
    const uint32_t outputs = graph_outputs(layer), positions = (uint32_t)layer->out_h * layer->out_w;
    float *to = float32_buffer(model, PLAN_ERROR, value);
    switch (layer->op) {
    case OP_MAX_POOL:
        max_pool_f32_backward(float32_buffer(model, PLAN_VALUE, value), error, &shape, further, to);
        break;
    case OP_AVERAGE_POOL: average_pool_f32_backward(error, &shape, further, to); break;
    case OP_HARD_SWISH:
        hard_swish_f32_backward(float32_buffer(model, PLAN_VALUE, value), error, outputs, further, to);
        break;
    case OP_MULTIPLY: {
        const float *other = float32_buffer(model, PLAN_VALUE, layer->reads[1 - read]);
        (read == 0 ? multiply_f32_error_of_a : multiply_f32_error_of_b)(other, error, positions, layer->out_c, further,
                                                                        to);
        break;
    }
    case OP_ADD: pass_error_f32(error, outputs, further, to); break;
    case OP_DEPTHWISE: depthwise_f32_input_error(error, kept, weights, &shape, further, to); break;
    case OP_FULLY_CONNECTED:
        fully_connected_f32_input_error(error, kept, weights, graph_inputs(layer), further, to);
        break;
    default: conv2d_f32_input_error(error, kept, weights, &shape, further, to);
    }
}

/* The value that a layer with weights reads, where it still is; or value 0, which is not kept. */
static const float *value_for_gradient(const model_t *model, const pass_t *pass, uint8_t l) {
    const uint8_t value = graph_layer(&model->file, l)->reads[0];
    if (value > 0) {
        return float32_buffer(model, PLAN_VALUE, value);
    }
    float *input = float32_buffer(model, FLOAT32_INPUT, l);
    float32_make_input(model, pass, input);
    return input;
}

void float32_gradient(const model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const uint32_t positions = (uint32_t)layer->out_h * layer->out_w, channels = graph_channels(layer);
    const float *in = value_for_gradient(model, pass, l);
    const float *error = float32_buffer(model, PLAN_ERROR, (uint8_t)(l + 1));
    float *gradient = float32_buffer(model, PLAN_GRADIENT, l);
    switch (layer->op) {
    case OP_DEPTHWISE: depthwise_f32_weight_gradient(in, error, &shape, gradient); break;
    case OP_FULLY_CONNECTED:
        fully_connected_f32_weight_gradient(in, error, graph_inputs(layer), channels, gradient);
        break;
    default: conv2d_f32_weight_gradient(in, error, &shape, gradient);
    }
    bias_gradient_f32(error, positions, channels, gradient + graph_weight_count(layer));
}
