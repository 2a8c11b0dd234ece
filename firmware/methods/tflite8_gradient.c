#include "methods/tflite8_methods.h"

#include <string.h>

#include "kernels/gradients.h"
#include "kernels/updates.h"

/* d of a layer: the random numbers that are drawn for it. */
static uint32_t dimensions_of(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const training_t *training = &model->training;
    return in_set(training->nodes, l) ? graph_outputs(layer) : trained_count(training, layer);
}

static uint32_t dimensions(const model_t *model, uint8_t l) {
    uint32_t sum = 0;
    if (tflite8_settings(model)->wise == WISE_LAYER) {
        return dimensions_of(model, l);
    }
    for (uint8_t i = 0; i < model->file.layers; i++) {
        sum += in_set(model->training.layers, i) ? dimensions_of(model, i) : 0;
    }
    return sum;
}

static float rate_of(const model_t *model, uint8_t l, uint32_t samples) {
    const tflite8_settings_t *settings = tflite8_settings(model);
    if (settings->method != METHOD_POOR_MANS) {
        return update_rate(settings->eta, false, samples, 1, 1);
    }
    return update_rate(settings->eta, settings->gns != 0, samples, settings->queries, dimensions(model, l));
}

static gradient_update_t update_of(const gradient_sink_t *sink, uint32_t samples, int32_t exponent) {
    const model_t *model = sink->model;
    const uint8_t l = sink->l;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const bool back = tflite8_settings(model)->method == METHOD_BP;
    return (gradient_update_t){
        .rate = rate_of(model, l, samples),
        .nodes = back || in_set(model->training.nodes, l),
        .factor = back ? model->gradient_factor[l] : 1.0f,
        .qas = tflite8_settings(model)->qas != 0,
        .depthwise = layer->op == OP_DEPTHWISE,
        .taps = graph_taps(layer),
        .channels = graph_channels(layer),
        .input_scale = graph_scale(&model->file, layer->reads[0]),
        .weight_scale = sink->tensors.scale,
        .multiplier = sink->tensors.multiplier,
        .shift = sink->tensors.shift,
        .exponent = exponent,
    };
}

static int32_t *sum_of(const model_t *model, uint8_t l) {
    return model_words(model, PLAN_GRADIENT, l);
}

static int32_t align(model_t *model, bool first, uint8_t l, int32_t x) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t n = trained_count(&model->training, layer);
    int32_t exponent = model->gradient_exponent[l];
    const int32_t shift = align_gradient_s32(sum_of(model, l), n, first, x, &exponent);
    /* zeroth order: -16..5; bp: 24 a layer at most, and the exponents of a few scales */
    model->gradient_exponent[l] = (int16_t)exponent;
    return shift;
}

gradient_sink_t gradient_open_step(model_t *model, uint8_t l, uint32_t samples, int32_t x) {
    gradient_sink_t sink = {.model = model, .l = l, .at_once = true, .tensors = tflite8_tensors(model, l)};
    sink.update = update_of(&sink, samples, x);
    return sink;
}

gradient_sink_t gradient_open(model_t *model, const sample_t *sample, uint8_t l, int32_t x) {
    if (model->settings.batch == 1) {
        return gradient_open_step(model, l, 1, x);
    }
    return (gradient_sink_t){.model = model, .l = l, .shift = align(model, sample->number == 0, l, x)};
}

static float *velocities(const model_t *model, uint8_t l) {
    return (float *)(void *)model_buffer(model, TFLITE8_VELOCITY, l);
}

static void update(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient) {
    const model_t *model = sink->model;
    const tensors_t *tensors = &sink->tensors;
    const uint32_t weights = trained_weights(&model->training, graph_layer(&model->file, sink->l));
    const bool moves = tflite8_has_velocities(tflite8_settings(model));
    const float momentum = tflite8_settings(model)->momentum;
    float *velocity = moves ? velocities(model, sink->l) + first : NULL;
    if (first < weights && moves) {
        apply_velocity_s8(tensors->weights + first, velocity, gradient, first, n, momentum, &sink->update,
                          tensors->sums);
    } else if (first < weights) {
        apply_gradient_s8(tensors->weights + first, gradient, first, n, &sink->update, tensors->sums);
    } else if (moves) {
        apply_velocity_s32(tensors->bias + first - weights, velocity, gradient, first - weights, n, momentum,
                           &sink->update);
    } else {
        apply_gradient_s32(tensors->bias + first - weights, gradient, first - weights, n, &sink->update);
    }
}

void gradient_take(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient) {
    model_t *model = sink->model;
    stopwatch_book(&model->watch, &model->account.backward[sink->l]);
    if (sink->at_once) {
        update(sink, first, n, gradient);
        stopwatch_book(&model->watch, &model->account.update);
    } else {
        add_gradient_s32(sum_of(model, sink->l) + first, gradient, n, sink->shift);
    }
}

void gradient_update_summed(model_t *model, uint32_t samples) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (!in_set(model->training.layers & model->training.reached, l)) {
            continue;
        }
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const uint32_t weights = trained_weights(&model->training, layer);
        const gradient_sink_t sink = gradient_open_step(model, l, samples, model->gradient_exponent[l]);
        update(&sink, 0, weights, sum_of(model, l));
        update(&sink, weights, trained_biases(&model->training, layer), sum_of(model, l) + weights);
    }
}

void tflite8_clear_velocities(model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const size_t n = trained_count(&model->training, graph_layer(&model->file, l));
        if (tflite8_has_velocities(tflite8_settings(model)) && in_set(model->training.layers, l)) {
            memset(velocities(model, l), 0, n * sizeof(float));
        }
    }
}

void tflite8_limit_trained(model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (!in_set(model->training.layers, l)) {
            continue;
        }
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const tensors_t tensors = tflite8_tensors(model, l);
        if (model->training.weights) {
            limit_s8(tensors.weights, graph_weight_count(layer), WEIGHT_LIMIT);
            tflite8_sum_weights(model, l);
        }
        if (model->training.biases) {
            limit_s32(tensors.bias, graph_channels(layer), BIAS_LIMIT);
        }
    }
    stopwatch_book(&model->watch, &model->account.perturb);
}
