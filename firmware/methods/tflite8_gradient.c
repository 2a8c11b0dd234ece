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
    const bool back = tflite8_goes_back(tflite8_settings(model));
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

static int32_t align(model_t *model, bool first, uint8_t l, const kept_t *kept, int32_t x) {
    int32_t exponent = model->gradient_exponent[l];
    const int32_t shift = align_gradient_s32(kept->sum, kept->weights + kept->biases, first, x, &exponent);
    /* zeroth order: -16..5; bp: 24 a layer at most, and the exponents of a few scales */
    model->gradient_exponent[l] = (int16_t)exponent;
    return shift;
}

kept_t tflite8_kept(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tflite8_settings_t *settings = tflite8_settings(model);
    if (settings->method == METHOD_TINYTRAIN) {
        return tinytrain_kept(model, l);
    }
    return (kept_t){
        .channels = graph_channels(layer),
        .weights = trained_weights(&model->training, layer),
        .biases = trained_biases(&model->training, layer),
        .sum = settings->batch > 1 ? model_words(model, PLAN_GRADIENT, l) : NULL,
        .velocity = tflite8_has_velocities(settings) ? (float *)(void *)model_buffer(model, TFLITE8_VELOCITY, l) : NULL,
    };
}

gradient_sink_t gradient_open_step(model_t *model, uint8_t l, uint32_t samples, int32_t x) {
    gradient_sink_t sink = {
        .model = model, .l = l, .kept = tflite8_kept(model, l), .at_once = true, .tensors = tflite8_tensors(model, l)};
    sink.update = update_of(&sink, samples, x);
    return sink;
}

gradient_sink_t gradient_open(model_t *model, const sample_t *sample, uint8_t l, int32_t x) {
    if (model->settings.batch == 1) {
        return gradient_open_step(model, l, 1, x);
    }
    const kept_t kept = tflite8_kept(model, l);
    return (gradient_sink_t){
        .model = model, .l = l, .kept = kept, .shift = align(model, sample->number == 0, l, &kept, x)};
}

/* Weights from index `first` in their tensor on. `velocity` is NULL without momentum. */
static void move_weights(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient,
                         float *velocity) {
    const tensors_t *tensors = &sink->tensors;
    if (velocity != NULL) {
        apply_velocity_s8(tensors->weights + first, velocity, gradient, first, n,
                          tflite8_settings(sink->model)->momentum, &sink->update, tensors->sums);
    } else {
        apply_gradient_s8(tensors->weights + first, gradient, first, n, &sink->update, tensors->sums);
    }
}

/* Biases, the same. */
static void move_biases(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient,
                        float *velocity) {
    if (velocity != NULL) {
        apply_velocity_s32(sink->tensors.bias + first, velocity, gradient, first, n,
                           tflite8_settings(sink->model)->momentum, &sink->update);
    } else {
        apply_gradient_s32(sink->tensors.bias + first, gradient, first, n, &sink->update);
    }
}

/* What is kept of the layer, as of gradient_take(). Of listed channels, each is moved by itself. */
static void update(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient) {
    const kept_t *kept = &sink->kept;
    const bool biases = first >= kept->weights;
    const uint32_t from = biases ? first - kept->weights : first, all = biases ? kept->biases : kept->weights,
                   each = kept->list != NULL ? all / kept->channels : n;
    for (uint32_t i = 0; i < n; i += each) {
        const uint32_t at = kept->list != NULL ? kept->list[(from + i) / each] * each : from;
        float *velocity = kept->velocity != NULL ? kept->velocity + first + i : NULL;
        (biases ? move_biases : move_weights)(sink, at, each, gradient + i, velocity);
    }
}

void gradient_take(const gradient_sink_t *sink, uint32_t first, uint32_t n, const int32_t *gradient) {
    model_t *model = sink->model;
    stopwatch_book(&model->watch, &model->account.backward[sink->l]);
    if (sink->at_once) {
        update(sink, first, n, gradient);
        stopwatch_book(&model->watch, &model->account.update);
    } else {
        add_gradient_s32(sink->kept.sum + first, gradient, n, sink->shift);
    }
}

void gradient_update_summed(model_t *model, uint32_t samples) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(model->training.updated, l)) {
            const gradient_sink_t sink = gradient_open_step(model, l, samples, model->gradient_exponent[l]);
            update(&sink, 0, sink.kept.weights, sink.kept.sum);
            update(&sink, sink.kept.weights, sink.kept.biases, sink.kept.sum + sink.kept.weights);
        }
    }
}

void tflite8_clear_velocities(model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (tflite8_has_velocities(tflite8_settings(model)) && in_set(model->training.updated, l)) {
            const kept_t kept = tflite8_kept(model, l);
            memset(kept.velocity, 0, (size_t)(kept.weights + kept.biases) * sizeof(float));
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
