#include <string.h>

#include "formats/bfp8.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/fully_connected.h"
#include "kernels/gradients.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "kernels/requantize.h"
#include "kernels/updates.h"

/* The errors of a layer's outputs for a group of samples. */
typedef struct {
    int8_t *values;
    int32_t exponent;
    uint16_t count; /* samples */
} error_t;

static int32_t *gradient_of(const model_t *model, uint8_t l) {
    return model_words(model, PLAN_GRADIENT, l);
}

static void begin(const model_t *model) {
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (graph_has_weights(layer)) {
            memset(gradient_of(model, l), 0, graph_weight_count(layer) * sizeof(int32_t));
        }
    }
}

/* Bring the gradient to an exponent that has room for a sample with exponent `x`. Returns the shift of that sample. */
static int32_t align_gradient(model_t *model, uint8_t l, bool first, int32_t x) {
    int16_t *exponent = &model->gradient_exponent[l];
    if (first) {
        *exponent = (int16_t)x;
    }
    if (x > *exponent) {
        scale_gradient_s32(gradient_of(model, l), graph_weight_count(graph_layer(&model->file, l)), x - *exponent);
        *exponent = (int16_t)x;
    }
    return *exponent - x;
}

static void add_sample_gradient(model_t *model, uint8_t l, const int8_t *in, const int8_t *error, int32_t shift) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    int32_t *gradient = gradient_of(model, l);
    if (layer->op == OP_CONV2D) {
        const layer_shape_t shape = graph_shape(layer);
        int8_t *scratch = model_buffer(model, PLAN_SUMS, l);
        conv2d_s8_weight_gradient(in, error, &shape, shift, scratch, gradient);
    } else {
        fully_connected_s8_weight_gradient(in, error, graph_inputs(layer), graph_outputs(layer), shift, gradient);
    }
}

static void add_weight_gradient(model_t *model, uint8_t l, const int8_t *in, const error_t *error, bool first) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const int32_t shift = align_gradient(model, l, first, error->exponent + model->exponent[l]);
    for (uint16_t b = 0; b < error->count; b++) {
        add_sample_gradient(model, l, in + b * inputs, error->values + b * outputs, shift);
    }
}

static void sum_error(const model_t *model, uint8_t l, const int8_t *error, int32_t *acc) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const int8_t *weights = model_weights(model, l);
    if (layer->op == OP_CONV2D) {
        const layer_shape_t shape = graph_shape(layer);
        conv2d_s8_input_error(error, weights, &shape, acc);
    } else {
        fully_connected_s8_input_error(error, weights, graph_inputs(layer), graph_outputs(layer), acc);
    }
}

/* The error of the input of conv2d and fully_connected, in the buffer of the layer before. */
static void propagate_trained(model_t *model, uint8_t l, error_t *error) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    int32_t *acc = model_words(model, PLAN_BACK, l);
    for (uint16_t b = 0; b < error->count; b++) {
        sum_error(model, l, error->values + b * outputs, acc + b * inputs);
    }
    error->values = model_buffer(model, PLAN_ERROR, l);
    error->exponent += layer->weight_exponent + requantize_s8(acc, error->count * inputs, error->values);
}

static void propagate_untrained(model_t *model, uint8_t l, const int8_t *in, error_t *error) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    if (layer->op == OP_RELU) {
        relu_s8_backward(model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1)), error->values, error->count * outputs);
        return;
    }
    const layer_shape_t shape = graph_shape(layer);
    int8_t *input_error = model_buffer(model, PLAN_ERROR, l);
    for (uint16_t b = 0; b < error->count; b++) {
        max_pool_s8_backward(in + b * inputs, error->values + b * outputs, &shape, input_error + b * inputs);
    }
    error->values = input_error;
}

/* Turn the errors of a layer's outputs into those of its inputs. */
static void propagate(model_t *model, uint8_t l, const int8_t *in, error_t *error) {
    if (graph_has_weights(graph_layer(&model->file, l))) {
        propagate_trained(model, l, error);
    } else {
        propagate_untrained(model, l, in, error);
    }
}

static error_t error_of_logits(const model_t *model, const uint8_t *labels, uint16_t count, bool zero_sum) {
    const uint32_t classes = model_classes(model);
    const error_t error = {.values = model_buffer(model, PLAN_ERROR, model->file.layers),
                           .exponent = SOFTMAX_ERROR_EXPONENT,
                           .count = count};
    for (uint16_t b = 0; b < count; b++) {
        softmax_error_s8(model_logits(model, b), classes, model_logits_exponent(model), labels[b], zero_sum,
                         error.values + b * classes);
    }
    return error;
}

static void backward(model_t *model, const pass_t *pass, const uint8_t *labels, bool first, bool zero_sum) {
    const uint8_t last = model->training.first_backward;
    error_t error = error_of_logits(model, labels, pass->count, zero_sum);
    observe(model->observer, error.values, model_classes(model), error.exponent);
    for (uint8_t l = model->file.layers; l-- > last;) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const int8_t *in = pass_value(model, pass, l);
        if (graph_has_weights(layer)) {
            add_weight_gradient(model, l, in, &error, first);
        }
        if (l > last) {
            propagate(model, l, in, &error);
            observe(model->observer, error.values, graph_inputs(layer), error.exponent);
        }
        stopwatch_book(&model->watch, &model->account.backward[l]);
    }
}

static void update(const model_t *model, int32_t b_bp) {
    for (uint8_t l = model->training.first_backward; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (graph_has_weights(layer)) {
            bp_update_s8(model_weights(model, l), gradient_of(model, l), graph_weight_count(layer), b_bp);
        }
    }
}

const chain_training_t bfp8_chain = {
    .sum_bytes = sizeof(int32_t),
    .scratch = conv2d_s8_scratch,
    .gradient_scratch = conv2d_s8_weight_gradient_scratch,
    .limit = limit_s8,
    .to_perturb = moves_to_perturb,
    .to_update = moves_to_update,
    .move = move_s8,
    .backward_begin = begin,
    .backward = backward,
    .update = update,
};
