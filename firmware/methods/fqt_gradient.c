/* Gradients and statistics of a sample: docs/arithmetic-fqt.md, section 5. */
#include <string.h>

#include "arith/float32.h"
#include "formats/float32.h"
#include "formats/tflite8_sizes.h"
#include "kernels/gradients.h"
#include "kernels/layers_f32.h"
#include "methods/fqt.h"

/* A layer while its gradient is taken. */
typedef struct {
    const model_t *model;
    uint8_t l;
    const graph_layer_t *layer;
    layer_shape_t shape;
    const int8_t *in, *error; /* as they are in the format */
    affine8_error_t of;       /* affine8: of the error */
    float *gradient;
} learning_t;

/* Whether statistics are those of the gradients of single samples. */
static bool has_statistics(const learning_t *learning) {
    return fqt_settings(learning->model)->standardise == STANDARDISE_RUNNING;
}

static void clear_gradient(const learning_t *learning, uint32_t o) {
    const fqt_channel_t channel = fqt_channel(learning->layer, o);
    float *gradient = learning->gradient + channel.first;
    if (channel.step == 1) {
        memset(gradient, 0, channel.count * sizeof gradient[0]);
    } else {
        for (uint32_t k = 0; k < channel.count; k++, gradient += channel.step) {
            *gradient = 0.0f;
        }
    }
    if (learning->model->training.biases) {
        learning->gradient[graph_weight_count(learning->layer) + o] = 0.0f;
    }
}

/* The first sample of the step that keeps a channel begins its gradients. */
static void mark_kept(const learning_t *learning, uint32_t o) {
    uint8_t *kept = (uint8_t *)model_buffer(learning->model, FQT_KEPT, learning->l);
    const uint32_t bit = 1u << o % 8;
    if ((kept[o / 8] & bit) == 0) {
        kept[o / 8] = (uint8_t)(kept[o / 8] | bit);
        clear_gradient(learning, o);
    }
}

/* affine8: integers of `n` channels at a time, in the buffer `sums`. */

static float float_of_s64(int64_t x) {
    return x < 0 ? -float32_of_u64((uint64_t)-x) : float32_of_u64((uint64_t)x);
}

static void take_sums(const learning_t *learning, uint32_t o, const int32_t *sums, uint32_t n, uint32_t step, float c) {
    int64_t sum = 0;
    uint64_t squares = 0;
    for (uint32_t k = 0; k < n; k++) {
        const int64_t g = sums[k * step];
        sum += g;
        squares += (uint64_t)(g * g);
    }
    fqt_take_moments(learning->model, learning->l, o, c * (float_of_s64(sum) / (float)n),
                     (c * c) * (float32_of_u64(squares) / (float)n));
}

static void weight_sums(const learning_t *learning, const affine8_errors_t *errors, int8_t zero, int8_t *scratch,
                        int32_t *sums) {
    const layer_shape_t *shape = &learning->shape;
    switch (learning->layer->op) {
    case OP_CONV2D: affine8_conv2d_weight_gradient(learning->in, errors, shape, zero, scratch, sums); break;
    case OP_DEPTHWISE: affine8_depthwise_weight_gradient(learning->in, errors, shape, zero, scratch, sums); break;
    case OP_POINTWISE: affine8_pointwise_weight_gradient(learning->in, errors, shape, zero, sums); break;
    default: affine8_fully_connected_weight_gradient(learning->in, errors, shape_inputs(shape), zero, sums);
    }
}

/* The channels of a list, as many as there are sums for. */
static void learn_channels(const learning_t *learning, const sums_layout_t *layout, const uint16_t *kept, uint32_t n) {
    const model_t *model = learning->model;
    const graph_layer_t *layer = learning->layer;
    int8_t *buffer = model_buffer(model, PLAN_SUMS, learning->l);
    int32_t *sums = (int32_t *)(void *)buffer;
    const uint32_t channels = layer->out_c, positions = (uint32_t)layer->out_h * layer->out_w, taps = graph_taps(layer),
                   weights = graph_weight_count(layer);
    const bool depthwise = layer->op == OP_DEPTHWISE;
    const affine8_params_t in = affine8_value(model, layer->reads[0]);
    const float c = learning->of.s * in.s;
    affine8_errors_t errors = {.error = learning->error, .zero = learning->of.z, .kept = kept, .count = n};
    memset(sums, 0, (taps + 1) * n * sizeof sums[0]);
    affine8_bias_gradient(&errors, positions, channels, sums + taps * n);
    if (!depthwise && n < channels) {
        gather_channels_s8(learning->error, positions, channels, kept, n, buffer + layout->errors);
        errors.error = buffer + layout->errors;
    }
    weight_sums(learning, &errors, in.z, buffer + layout->scratch, sums);
    for (uint32_t i = 0; i < n; i++) {
        const fqt_channel_t channel = fqt_channel(layer, kept[i]);
        const int32_t *own = sums + (depthwise ? i : i * taps);
        const uint32_t step = depthwise ? n : 1;
        affine8_add_gradient(own, taps, step, c, channel.step, learning->gradient + channel.first);
        if (model->training.biases) {
            affine8_add_gradient(sums + taps * n + i, 1, 1, learning->of.s, 1, learning->gradient + weights + kept[i]);
        }
        if (has_statistics(learning)) {
            take_sums(learning, kept[i], own, taps, step, c);
        }
    }
}

static void learn_affine8(const learning_t *learning, const fqt_kept_t *kept) {
    const sums_layout_t layout = sums_layout(learning->layer, true);
    const uint32_t most = layout.channels;
    for (uint32_t first = 0; first < kept->count; first += most) {
        const uint32_t left = kept->count - first;
        learn_channels(learning, &layout, kept->kept + first, left < most ? left : most);
    }
}

static void learn_f32(const learning_t *learning, uint32_t o) {
    const graph_layer_t *layer = learning->layer;
    const float *in = (const float *)(const void *)learning->in, *error = (const float *)(const void *)learning->error;
    const fqt_channel_t channel = fqt_channel(layer, o);
    const uint32_t positions = (uint32_t)layer->out_h * layer->out_w;
    float *gradient = learning->gradient + channel.first, *bias = learning->gradient + graph_weight_count(layer) + o;
    moments_f32_t moments;
    switch (layer->op) {
    case OP_DEPTHWISE: moments = depthwise_f32_channel_gradient(in, error, &learning->shape, o, gradient); break;
    case OP_FULLY_CONNECTED:
        moments = fully_connected_f32_channel_gradient(in, error[o], channel.count, gradient);
        break;
    default: moments = conv2d_f32_channel_gradient(in, error, &learning->shape, o, gradient);
    }
    if (learning->model->training.biases) {
        *bias = *bias + channel_error_f32(error, positions, layer->out_c, o);
    }
    if (has_statistics(learning)) {
        const float count = (float)channel.count;
        fqt_take_moments(learning->model, learning->l, o, moments.sum / count, moments.squares / count);
    }
}

void fqt_learn(const model_t *model, const pass_t *pass, uint8_t l, affine8_error_t error, const fqt_kept_t *kept) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const learning_t learning = {.model = model,
                                 .l = l,
                                 .layer = layer,
                                 .shape = graph_shape(layer),
                                 .in = pass_value(model, pass, layer->reads[0]),
                                 .error = model_buffer(model, PLAN_ERROR, (uint8_t)(l + 1)),
                                 .of = error,
                                 .gradient = fqt_gradient(model, l)};
    for (uint32_t i = 0; i < kept->count; i++) {
        mark_kept(&learning, kept->kept[i]);
        if (layer->format == FORMAT_FLOAT32) {
            learn_f32(&learning, kept->kept[i]);
        }
    }
    if (layer->format == FORMAT_AFFINE8) {
        learn_affine8(&learning, kept);
    }
}
