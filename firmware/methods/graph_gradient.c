#include "methods/graph_gradient.h"

#include "kernels/add_gradient_s32.h"
#include "kernels/align_gradient_s32.h"
#include "kernels/apply_gradient_s32.h"
#include "kernels/apply_gradient_s8.h"
#include "kernels/limit_s32.h"
#include "kernels/limit_s8.h"

/* d of a layer: what is drawn for it. */
static uint32_t dimensions_of(const graph_model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_training_t *training = &model->training;
    return in_set(training->nodes, l) ? graph_outputs(layer) : trained_weights(training, layer) + trained_biases(training, layer);
}

static uint32_t dimensions(const graph_model_t *model, uint8_t l) {
    uint32_t sum = 0;
    if (model->settings.wise == WISE_LAYER) {
        return dimensions_of(model, l);
    }
    for (uint8_t i = 0; i < model->file.layers; i++) {
        sum += in_set(model->training.layers, i) ? dimensions_of(model, i) : 0;
    }
    return sum;
}

static float rate_of(const graph_model_t *model, uint8_t l, uint32_t samples) {
    const graph_settings_t *settings = &model->settings;
    if (settings->method == METHOD_DEEPZERO) {
        return update_rate(settings->eta, false, samples, 1, 1);
    }
    return update_rate(settings->eta, settings->gns != 0, samples, settings->queries, dimensions(model, l));
}

static gradient_update_t update_of(const graph_model_t *model, uint8_t l, uint32_t samples, int32_t exponent) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = graph_tensors(model, l);
    return (gradient_update_t){
        .rate = rate_of(model, l, samples),
        .nodes = in_set(model->training.nodes, l),
        .qas = model->settings.qas != 0,
        .depthwise = layer->op == GRAPH_DEPTHWISE,
        .taps = graph_taps(layer),
        .channels = layer->channels,
        .input_scale = graph_scale(&model->file, layer->reads[0]),
        .weight_scale = tensors.scale,
        .multiplier = tensors.multiplier,
        .shift = tensors.shift,
        .exponent = exponent,
    };
}

static int32_t *sum_of(const graph_model_t *model, uint8_t l) {
    return graph_s32(model, model->plan.grad[l]);
}

static int32_t align(graph_model_t *model, bool first, uint8_t l, int32_t x) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t n = trained_weights(&model->training, layer) + trained_biases(&model->training, layer);
    int32_t exponent = model->exponent[l];
    const int32_t shift = align_gradient_s32(sum_of(model, l), n, first, x, &exponent);
    model->exponent[l] = (int8_t)exponent; /* -16..5: docs/arithmetic-zeroth-order.md, sections 4 and 5 */
    return shift;
}

gradient_sink_t gradient_open(graph_model_t *model, const sample_t *sample, uint8_t l, int32_t x) {
    gradient_sink_t sink = {.model = model, .l = l, .at_once = model->settings.batch == 1, .tensors = graph_tensors(model, l)};
    if (sink.at_once) {
        sink.update = update_of(model, l, 1, x);
    } else {
        sink.shift = align(model, sample->number == 0, l, x);
    }
    return sink;
}

static void book(const gradient_sink_t *sink, uint64_t *to) {
    stopwatch_book(&sink->model->watch, to);
}

void gradient_take_weights(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient) {
    book(sink, &sink->model->account.backward[sink->l]);
    if (sink->at_once) {
        apply_gradient_s8(sink->tensors.weights + first, gradient, first, n, &sink->update, sink->tensors.sums);
        book(sink, &sink->model->account.update);
    } else {
        add_gradient_s32(sum_of(sink->model, sink->l) + first, gradient, n, sink->shift);
    }
}

void gradient_take_biases(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient) {
    const graph_model_t *model = sink->model;
    book(sink, &sink->model->account.backward[sink->l]);
    if (sink->at_once) {
        apply_gradient_s32(sink->tensors.bias + first, gradient, first, n, &sink->update);
        book(sink, &sink->model->account.update);
    } else {
        const uint32_t behind = trained_weights(&model->training, graph_layer(&model->file, sink->l));
        add_gradient_s32(sum_of(model, sink->l) + behind + first, gradient, n, sink->shift);
    }
}

void gradient_update_summed(graph_model_t *model, uint32_t samples) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (!in_set(model->training.layers, l)) {
            continue;
        }
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const uint32_t weights = trained_weights(&model->training, layer), biases = trained_biases(&model->training, layer);
        const tensors_t tensors = graph_tensors(model, l);
        const gradient_update_t update = update_of(model, l, samples, model->exponent[l]);
        apply_gradient_s8(tensors.weights, sum_of(model, l), 0, weights, &update, tensors.sums);
        apply_gradient_s32(tensors.bias, sum_of(model, l) + weights, 0, biases, &update);
    }
}

void graph_limit_trained(graph_model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (!in_set(model->training.layers, l)) {
            continue;
        }
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const tensors_t tensors = graph_tensors(model, l);
        if (model->training.weights) {
            limit_s8(tensors.weights, layer->weights, WEIGHT_LIMIT);
            graph_sum_weights(model, l);
        }
        if (model->training.biases) {
            limit_s32(tensors.bias, layer->channels, BIAS_LIMIT);
        }
    }
    stopwatch_book(&model->watch, &model->account.perturb);
}
