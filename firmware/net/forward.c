#include "net/forward.h"

#include "kernels/conv2d_s8.h"
#include "kernels/fully_connected_s8.h"
#include "kernels/max_pool_s8.h"
#include "kernels/relu_s8.h"
#include "kernels/requantize_s8.h"

/* The sums of conv2d and fully_connected, one sample. */
static void sum_products(const model_t *model, uint8_t i, const int8_t *in, int32_t *acc) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const layer_shape_t shape = graph_shape(layer);
    const int8_t *weights = model_weights(model, layer);
    if (layer->op == OP_CONV2D) {
        conv2d_s8(in, weights, &shape, model_s8(model, model->plan.layer[i].scratch), acc);
    } else {
        fully_connected_s8(in, weights, graph_inputs(layer), graph_outputs(layer), acc);
    }
}

/* The sums of the whole group, then its activations and their exponent. */
static void forward_trained(model_t *model, uint8_t i, const int8_t *in, uint16_t count) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    int32_t *acc = model_s32(model, model->plan.layer[i].acc);
    for (uint16_t b = 0; b < count; b++) {
        sum_products(model, i, in + b * inputs, acc + b * outputs);
    }
    const int32_t growth = requantize_s8(acc, count * outputs, model_s8(model, model->plan.layer[i].act));
    model->act_exponent[i] = model_input_exponent(model, i) + layer->weight_exponent + growth;
}

static void forward_layer(model_t *model, uint8_t i, const int8_t *samples, uint16_t count) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const int8_t *in = model_input(model, i, samples);
    int8_t *out = model_s8(model, model->plan.layer[i].act);
    if (graph_has_weights(layer)) {
        forward_trained(model, i, in, count);
        return;
    }
    model->act_exponent[i] = model_input_exponent(model, i);
    if (layer->op == OP_RELU) {
        relu_s8(out, count * outputs); /* `out` is `in` */
        return;
    }
    const layer_shape_t shape = graph_shape(layer);
    for (uint16_t b = 0; b < count; b++) {
        max_pool_s8(in + b * inputs, &shape, out + b * outputs);
    }
}

void forward(model_t *model, const int8_t *samples, uint16_t count) {
    for (uint8_t i = 0; i < model->file.layers; i++) {
        forward_layer(model, i, samples, count);
        stopwatch_book(&model->watch, &model->account.forward[i]);
        observe(model->observer, model_s8(model, model->plan.layer[i].act), graph_outputs(graph_layer(&model->file, i)),
                model->act_exponent[i]);
    }
}
