#include "net/backward.h"

#include <string.h>

#include "kernels/bfp8_gradient.h"
#include "kernels/conv2d_s8.h"
#include "kernels/fully_connected_s8.h"
#include "kernels/losses.h"
#include "kernels/max_pool_s8.h"
#include "kernels/relu_s8.h"
#include "kernels/requantize_s8.h"

/* The errors of a layer's outputs for a group of samples, on their way towards the input. */
typedef struct {
    int8_t *values;
    int32_t exponent;
    uint16_t count; /* samples */
} error_t;

static int32_t *gradient_of(const model_t *model, uint8_t i) {
    return model_s32(model, model->plan.layer[i].grad);
}

void backward_begin(model_t *model) {
    model->gradient_begun = false;
    for (uint8_t i = model->first_bp; i < model->file.layers; i++) {
        const graph_layer_t *layer = graph_layer(&model->file, i);
        if (graph_has_weights(layer)) {
            memset(gradient_of(model, i), 0, graph_weight_count(layer) * sizeof(int32_t));
        }
    }
}

/* Bring the gradient to an exponent that has room for a sample with exponent `x`; returns by how much that sample is to be
   shifted. */
static int32_t align_gradient(model_t *model, uint8_t i, int32_t x) {
    int32_t *exponent = &model->gradient_exponent[i];
    if (!model->gradient_begun) {
        *exponent = x;
    }
    if (x > *exponent) {
        scale_gradient_s32(gradient_of(model, i), graph_weight_count(graph_layer(&model->file, i)), x - *exponent);
        *exponent = x;
    }
    return *exponent - x;
}

static void add_sample_gradient(model_t *model, uint8_t i, const int8_t *in, const int8_t *error, int32_t shift) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    int32_t *gradient = gradient_of(model, i);
    if (layer->op == OP_CONV2D) {
        const layer_shape_t shape = graph_shape(layer);
        int8_t *scratch = model_s8(model, model->plan.layer[i].bscratch);
        conv2d_s8_weight_gradient(in, error, &shape, shift, scratch, gradient);
    } else {
        fully_connected_s8_weight_gradient(in, error, graph_inputs(layer), graph_outputs(layer), shift, gradient);
    }
}

static void add_weight_gradient(model_t *model, uint8_t i, const int8_t *in, const error_t *error) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const int32_t shift = align_gradient(model, i, error->exponent + model_input_exponent(model, i));
    for (uint16_t b = 0; b < error->count; b++) {
        add_sample_gradient(model, i, in + b * inputs, error->values + b * outputs, shift);
    }
}

static void sum_error(const model_t *model, uint8_t i, const int8_t *error, int32_t *acc) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const int8_t *weights = model_weights(model, layer);
    if (layer->op == OP_CONV2D) {
        const layer_shape_t shape = graph_shape(layer);
        conv2d_s8_input_error(error, weights, &shape, acc);
    } else {
        fully_connected_s8_input_error(error, weights, graph_inputs(layer), graph_outputs(layer), acc);
    }
}

/* The error of the input of conv2d and fully_connected, in the buffer of the layer before. */
static void propagate_trained(model_t *model, uint8_t i, error_t *error) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    int32_t *acc = model_s32(model, model->plan.layer[i].eacc);
    for (uint16_t b = 0; b < error->count; b++) {
        sum_error(model, i, error->values + b * outputs, acc + b * inputs);
    }
    error->values = model_s8(model, model->plan.layer[i - 1].err);
    error->exponent += layer->weight_exponent + requantize_s8(acc, error->count * inputs, error->values);
}

static void propagate_untrained(model_t *model, uint8_t i, const int8_t *in, error_t *error) {
    const graph_layer_t *layer = graph_layer(&model->file, i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    if (layer->op == OP_RELU) {
        relu_s8_backward(model_s8(model, model->plan.layer[i].act), error->values, error->count * outputs);
        return;
    }
    const layer_shape_t shape = graph_shape(layer);
    int8_t *input_error = model_s8(model, model->plan.layer[i - 1].err);
    for (uint16_t b = 0; b < error->count; b++) {
        max_pool_s8_backward(in + b * inputs, error->values + b * outputs, &shape, input_error + b * inputs);
    }
    error->values = input_error;
}

/* Turn the errors of a layer's outputs into those of its inputs. */
static void propagate(model_t *model, uint8_t i, const int8_t *in, error_t *error) {
    if (graph_has_weights(graph_layer(&model->file, i))) {
        propagate_trained(model, i, error);
    } else {
        propagate_untrained(model, i, in, error);
    }
}

static error_t error_of_logits(const model_t *model, const uint8_t *labels, uint16_t count) {
    const uint8_t last = (uint8_t)(model->file.layers - 1);
    const uint32_t classes = model_classes(model);
    const error_t error = {
        .values = model_s8(model, model->plan.layer[last].err), .exponent = SOFTMAX_ERROR_EXPONENT, .count = count};
    for (uint16_t b = 0; b < count; b++) {
        softmax_error_s8(model_logits(model, b), classes, model_logits_exponent(model), labels[b], model->zero_sum,
                         error.values + b * classes);
    }
    return error;
}

void backward(model_t *model, const int8_t *samples, const uint8_t *labels, uint16_t count) {
    error_t error = error_of_logits(model, labels, count);
    observe(model->observer, error.values, model_classes(model), error.exponent);
    for (int layer = model->file.layers - 1; layer >= model->first_bp; layer--) {
        const uint8_t i = (uint8_t)layer;
        const int8_t *in = model_input(model, i, samples);
        if (graph_has_weights(graph_layer(&model->file, i))) {
            add_weight_gradient(model, i, in, &error);
        }
        if (i > model->first_bp) {
            propagate(model, i, in, &error);
            observe(model->observer, error.values, graph_inputs(graph_layer(&model->file, i)), error.exponent);
        }
        stopwatch_book(&model->watch, &model->account.backward[i]);
    }
    model->gradient_begun = true;
}

void backward_update(model_t *model, int32_t b_bp) {
    for (uint8_t i = model->first_bp; i < model->file.layers; i++) {
        const graph_layer_t *layer = graph_layer(&model->file, i);
        if (graph_has_weights(layer)) {
            bp_update_s8(model_weights(model, layer), gradient_of(model, i), graph_weight_count(layer), b_bp);
        }
    }
}
