/* The backward pass of a sample with straight-through errors: docs/arithmetic-tflite.md, sections 7.1 to 7.3. */
#include <string.h>

#include "arith/float32.h"
#include "formats/tflite8_sizes.h"
#include "kernels/convolution.h"
#include "kernels/fully_connected.h"
#include "kernels/layer_errors.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "kernels/requantize.h"
#include "methods/tflite8_methods.h"

enum { FRACTION = 16 }; /* bits of a quotient of factors that count */

/* c * 2^exponent, 1 <= c < 2: section 1 there. */
typedef struct {
    float c;
    int16_t exponent;
} factor_t;

/* The backward pass of a sample: factor and exponent of the errors in the buffers `error`. */
typedef struct {
    model_t *model;
    const sample_t *sample;
    uint64_t arrived; /* bit v - 1: value v has an error */
    factor_t factor[PLAN_LENGTH];
    int16_t exponent[PLAN_LENGTH]; /* x */
} way_back_t;

/* p * 2^exponent, for a positive normal p. */
static factor_t normalised(float p, int32_t exponent) {
    const uint32_t word = float32_bits(p), one = float32_bits(1.0f);
    const int32_t k = (int32_t)(word >> 23) - 127;
    return (factor_t){.c = float32_from_bits((word & 0x007FFFFFu) | one), .exponent = (int16_t)(exponent + k)};
}

static int8_t *error_of(const way_back_t *way, uint8_t value) {
    return model_buffer(way->model, PLAN_ERROR, value);
}

static bool has_arrived(const way_back_t *way, uint8_t value) {
    return in_set(way->arrived, (uint8_t)(value - 1));
}

/* Where to compute the error of a value: that of its first reader in the value's own buffer, those of further readers
   in `apart`. */
static int8_t *place_for(const way_back_t *way, uint8_t value, int8_t *apart) {
    return has_arrived(way, value) ? apart : error_of(way, value);
}

static void merge(way_back_t *way, uint8_t value, factor_t factor, const int8_t *error, int32_t x) {
    const factor_t own = way->factor[value];
    const factor_t ratio = normalised(factor.c / own.c, factor.exponent - own.exponent);
    const uint32_t fraction = (float32_bits(ratio.c) & 0x007FFFFFu) | 0x00800000u;
    const merged_t other = {
        .error = error, .m = (int32_t)(fraction >> (24 - FRACTION)), .exponent = x + ratio.exponent - (FRACTION - 1)};
    const uint32_t n = (uint32_t)graph_elements(&way->model->file, value);
    way->exponent[value] = (int16_t)merge_errors_s8(error_of(way, value), n, way->exponent[value], &other);
}

/* Give a value an error, which is at place_for(). */
static void give(way_back_t *way, uint8_t value, factor_t factor, const int8_t *error, int32_t x) {
    if (has_arrived(way, value)) {
        merge(way, value, factor, error, x);
        return;
    }
    way->arrived |= UINT64_C(1) << (value - 1);
    way->factor[value] = factor;
    way->exponent[value] = (int16_t)x;
}

static void begin(way_back_t *way) {
    const graph_file_t *file = &way->model->file;
    const uint8_t n = file->layers;
    const float scale = graph_scale(file, n), part = 1.0f / 127.0f;
    const int8_t *logits = pass_value(way->model, &way->sample->clean, n);
    int8_t *error = error_of(way, n);
    cross_entropy_error_s8(logits, graph_header(file)->classes, scale, way->sample->label, error);
    give(way, n, normalised(scale * part, 0), error, 0);
}

/* The sums of weight times error for every input. */
static void input_sums(const way_back_t *way, uint8_t l, const int8_t *error, int8_t *scratch, int32_t *acc) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const int8_t *weights = tflite8_tensors(way->model, l).weights;
    const layer_shape_t shape = graph_shape(layer);
    switch (layer->op) {
    case OP_CONV2D: tflite_conv2d_s8_input_error(error, weights, &shape, (int32_t *)(void *)scratch, acc); break;
    case OP_DEPTHWISE: tflite_depthwise_s8_input_error(error, weights, &shape, scratch, acc); break;
    case OP_POINTWISE: tflite_pointwise_s8_input_error(error, weights, &shape, acc); break;
    default: fully_connected_s8_input_error(error, weights, shape_inputs(&shape), graph_channels(layer), acc);
    }
}

/* Through a layer with weights. The error of a further reader overwrites the beginning of its sums, in 8 bits. */
static void through_weights(way_back_t *way, uint8_t l) {
    model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint8_t value = layer->reads[0], y = (uint8_t)(l + 1);
    const tensors_t tensors = tflite8_tensors(model, l);
    const uint32_t inputs = graph_inputs(layer), positions = (uint32_t)layer->out_h * layer->out_w;
    const uint32_t largest = largest_channel(tensors.multiplier, tensors.shift, graph_channels(layer));
    const back_layout_t layout = back_layout(layer, inputs);
    int8_t *buffer = model_buffer(model, PLAN_BACK, l), *levelled = buffer + layout.levelled,
           *error = place_for(way, value, buffer);
    int32_t *acc = (int32_t *)(void *)buffer;
    level_errors_s8(error_of(way, y), positions, graph_channels(layer), tensors.multiplier, tensors.shift, largest,
                    levelled);
    input_sums(way, l, levelled, buffer + layout.scratch, acc);
    model->macs += graph_products(layer);
    const float p = way->factor[y].c * channel_factor(tensors.multiplier, tensors.shift, largest);
    const int32_t x = way->exponent[y] + requantize_s8(acc, inputs, error);
    give(way, value, normalised(p, way->factor[y].exponent), error, x);
}

static void through_add(way_back_t *way, uint8_t l) {
    const graph_file_t *file = &way->model->file;
    const graph_layer_t *layer = graph_layer(file, l);
    const uint8_t y = (uint8_t)(l + 1);
    int8_t *own = error_of(way, y);
    for (uint32_t i = 0; i < 2; i++) {
        const uint8_t value = layer->reads[i];
        if (!has_error(&way->model->training, value)) {
            continue;
        }
        const float scales = graph_scale(file, value) / graph_scale(file, y);
        int8_t *error = place_for(way, value, own);
        if (error != own) {
            memcpy(error, own, graph_outputs(layer));
        }
        give(way, value, normalised(way->factor[y].c * scales, way->factor[y].exponent), error, way->exponent[y]);
    }
}

static void through_pool(way_back_t *way, uint8_t l) {
    model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint8_t value = layer->reads[0], y = (uint8_t)(l + 1);
    const layer_shape_t shape = graph_shape(layer);
    int8_t *error = has_arrived(way, value) ? model_buffer(model, PLAN_BACK, l) : error_of(way, value);
    factor_t factor = way->factor[y];
    if (layer->op == OP_MAX_POOL) {
        max_pool_error_s8(pass_value(model, &way->sample->clean, value), error_of(way, y), &shape, 0, error);
    } else {
        const uint32_t window = (uint32_t)layer->kernel_h * layer->kernel_w;
        average_pool_error_s8(error_of(way, y), &shape, 0, error);
        factor = normalised(factor.c / (float)window, factor.exponent);
    }
    give(way, value, factor, error, way->exponent[y]);
}

/* The one factor of a mean is that of all its channels. */
static void through_mean(way_back_t *way, uint8_t l) {
    model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_mean_t *mean = graph_mean(&model->file, layer);
    const uint8_t value = layer->reads[0], y = (uint8_t)(l + 1);
    int8_t *error = has_arrived(way, value) ? model_buffer(model, PLAN_BACK, l) : error_of(way, value);
    tflite_mean_s8_backward(error_of(way, y), (uint32_t)layer->in_h * layer->in_w, layer->in_c, error);
    const float p = way->factor[y].c * channel_factor(&mean->multiplier, &mean->shift, 0);
    give(way, value, normalised(p, way->factor[y].exponent), error, way->exponent[y]);
}

static void hand_on(way_back_t *way, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    if (layer->op == OP_ADD) {
        through_add(way, l);
    } else if (!has_error(&way->model->training, layer->reads[0])) {
        return;
    } else if (graph_is_pool(layer)) {
        through_pool(way, l);
    } else if (layer->op == OP_MEAN) {
        through_mean(way, l);
    } else {
        through_weights(way, l);
    }
}

/* What the method does with a trained layer, after the error of its input, which takes the weights of the step. */
static void act_on(way_back_t *way, uint8_t l, layer_errors_t *act) {
    model_t *model = way->model;
    const uint8_t y = (uint8_t)(l + 1);
    if (in_set(model->training.layers, l)) {
        model->gradient_factor[l] = way->factor[y].c;
        act(model, way->sample, l, error_of(way, y), way->exponent[y] + way->factor[y].exponent);
    }
}

static void pass_back(way_back_t *way, uint8_t l, layer_errors_t *act) {
    model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint8_t y = (uint8_t)(l + 1);
    if (!graph_is_pool(layer)) {
        const int8_t *out = pass_value(model, &way->sample->clean, y);
        const graph_output_t *output = graph_output(&model->file, layer);
        tflite_clamp_s8_backward(out, error_of(way, y), graph_outputs(layer), output->act_min, output->act_max);
    }
    hand_on(way, l);
    act_on(way, l, act);
    model->layer_runs++;
    stopwatch_book(&model->watch, &model->account.backward[l]);
}

void tflite8_take_back(model_t *model, step_t *step, uint16_t slot, layer_errors_t *act) {
    const sample_t sample = tflite8_take_sample(model, step, slot);
    way_back_t way = {.model = model, .sample = &sample};
    begin(&way);
    for (uint8_t l = model->file.layers; l-- > model->training.first_backward;) {
        if (in_set(model->training.reached, l)) {
            pass_back(&way, l, act);
        }
    }
}
