/* The gradient of a layer from the errors of its output: docs/arithmetic-zeroth-order.md, section 5, NP;
   docs/arithmetic-tflite.md, section 7.3. */
#include <string.h>

#include "formats/tflite8_sizes.h"
#include "kernels/convolution.h"
#include "kernels/fully_connected.h"
#include "kernels/gradients.h"
#include "methods/tflite8_methods.h"

/* The buffer `sums`, for `channels` output channels at a time. */
typedef struct {
    int32_t *gradient; /* of the weights, followed by that of the biases */
    int8_t *packed, *scratch;
    uint32_t channels;
} sums_t;

static sums_t sums_of(const model_t *model, uint8_t l) {
    const sums_layout_t layout = sums_layout(graph_layer(&model->file, l), model->training.weights);
    int8_t *buffer = model_buffer(model, PLAN_SUMS, l);
    return (sums_t){.gradient = (int32_t *)(void *)buffer,
                    .packed = buffer + layout.errors,
                    .scratch = buffer + layout.scratch,
                    .channels = layout.channels};
}

static void weight_gradient(const graph_layer_t *layer, const int8_t *in, const int8_t *errors, uint32_t channels,
                            int8_t zero, const sums_t *sums) {
    layer_shape_t shape = graph_shape(layer);
    shape.out_c = (uint16_t)channels;
    switch (layer->op) {
    case OP_CONV2D: tflite_conv2d_s8_weight_gradient(in, errors, &shape, zero, sums->scratch, sums->gradient); break;
    case OP_DEPTHWISE:
        tflite_depthwise_s8_weight_gradient(in, errors, &shape, zero, sums->scratch, sums->gradient);
        break;
    case OP_POINTWISE: tflite_pointwise_s8_weight_gradient(in, errors, &shape, zero, sums->gradient); break;
    default:
        tflite_fully_connected_s8_weight_gradient(in, errors, shape_inputs(&shape), channels, zero, sums->gradient);
    }
}

/* Take the gradient of the kept channels first..first + count - 1. `errors` has the errors of these channels only. */
static void take_channels(const gradient_sink_t *sink, const int8_t *in, const int8_t *errors, uint32_t first,
                          uint32_t count, const sums_t *sums) {
    const model_t *model = sink->model;
    const graph_layer_t *layer = graph_layer(&model->file, sink->l);
    const uint32_t taps = model->training.weights ? graph_taps(layer) : 0, weights = taps * count;
    memset(sums->gradient, 0, (weights + count) * sizeof sums->gradient[0]);
    if (weights > 0) {
        weight_gradient(layer, in, errors, count, graph_zero(&model->file, layer->reads[0]), sums);
        gradient_take(sink, first * taps, weights, sums->gradient);
    }
    if (model->training.biases) {
        tflite_bias_gradient_s8(errors, (uint32_t)layer->out_h * layer->out_w, count, sums->gradient + weights);
        gradient_take(sink, sink->kept.weights + first, count, sums->gradient + weights);
    }
}

/* Where only biases are trained there is no room for gathered errors: the sums of all channels are computed, and those
   of the listed ones taken. */
static void take_listed_biases(const gradient_sink_t *sink, const int8_t *errors, const sums_t *sums) {
    const graph_layer_t *layer = graph_layer(&sink->model->file, sink->l);
    const kept_t *kept = &sink->kept;
    memset(sums->gradient, 0, sums->channels * sizeof sums->gradient[0]);
    tflite_bias_gradient_s8(errors, (uint32_t)layer->out_h * layer->out_w, sums->channels, sums->gradient);
    for (uint32_t c = 0; c < kept->channels; c++) {
        sums->gradient[c] = sums->gradient[kept->list[c]]; /* c at least: the list ascends */
    }
    gradient_take(sink, 0, kept->channels, sums->gradient);
}

/* The gradient of all kept channels, so many at a time as `sums` has room for. */
static void take_in_turn(const gradient_sink_t *sink, const int8_t *in, const int8_t *errors, const sums_t *sums) {
    const graph_layer_t *layer = graph_layer(&sink->model->file, sink->l);
    const uint32_t positions = (uint32_t)layer->out_h * layer->out_w, channels = graph_channels(layer);
    const kept_t *kept = &sink->kept;
    for (uint32_t first = 0; first < kept->channels; first += sums->channels) {
        const uint32_t left = kept->channels - first, taken = left < sums->channels ? left : sums->channels;
        if (kept->list != NULL) {
            gather_channels_s8(errors, positions, channels, kept->list + first, taken, sums->packed);
        } else {
            pack_channels_s8(errors, positions, channels, first, taken, sums->packed);
        }
        take_channels(sink, in, sums->packed, first, taken, sums);
    }
}

void error_gradient(model_t *model, const sample_t *sample, uint8_t l, const int8_t *errors, int32_t x) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const int8_t *in = pass_value(model, &sample->clean, layer->reads[0]);
    const sums_t sums = sums_of(model, l);
    const gradient_sink_t sink = gradient_open(model, sample, l, x);
    if (sink.kept.list != NULL && !model->training.weights) {
        take_listed_biases(&sink, errors, &sums);
    } else if (sink.kept.list == NULL && sums.channels == sink.kept.channels) {
        take_channels(&sink, in, errors, 0, sums.channels, &sums);
    } else {
        take_in_turn(&sink, in, errors, &sums);
    }
}
