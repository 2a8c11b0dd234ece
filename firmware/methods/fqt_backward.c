/* The way back of a sample: docs/arithmetic-fqt.md, section 3; docs/arithmetic-affine8.md, section 4. */
#include <string.h>

#include "formats/float32.h"
#include "formats/tflite8_sizes.h"
#include "kernels/affine8_elementwise.h"
#include "kernels/gradients.h"
#include "kernels/pooling.h"
#include "methods/fqt.h"

#define MOST_SCALE 0x1p40f

typedef struct {
    const fqt_sample_t *sample;
    model_t *model;
    uint64_t arrived;                   /* bit v - 1: value v has an error */
    affine8_error_t error[PLAN_LENGTH]; /* scale and zero point of it, in affine8; 0 in float32 */
    failure_t failure;
} way_back_t;

static int8_t *error_of(const way_back_t *way, uint8_t value) {
    return model_buffer(way->model, PLAN_ERROR, value);
}

static bool has_arrived(const way_back_t *way, uint8_t value) {
    return in_set(way->arrived, (uint8_t)(value - 1));
}

/* A scale that leaves its bounds, or is no number, fails the step. */
static void check_scale(way_back_t *way, uint8_t l, affine8_error_t error) {
    if (way->failure.code == 0 && !(error.s <= MOST_SCALE)) {
        way->failure = refusal(FAILURE_STEP_FAILED, l, FQT_ERROR_LEAVES);
    }
}

static affine8_rule_t rule_of(const way_back_t *way, uint8_t l, uint8_t read) {
    const fqt_settings_t *settings = fqt_settings(way->model);
    affine8_rule_t rule = {.floors = affine8_rounds_down(way->model)};
    if (settings->error_range == ERROR_RANGE_RUNNING && way->sample->learns) {
        rule.running =
            (affine8_running_t *)(void *)model_s8(way->model, way->model->plan.at[FQT_ERROR_RANGES]) + 2u * l + read;
        rule.momentum = settings->range_momentum;
    }
    return rule;
}

static const int8_t *value_of(const way_back_t *way, uint8_t value) {
    return pass_value(way->model, way->sample->pass, value);
}

/* Through a layer with weights. The sums are in its buffer, at the beginning of which the error may be computed. */
static affine8_error_t through_weights(const way_back_t *way, uint8_t l, const fqt_kept_t *kept, int8_t *to) {
    const model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const uint32_t inputs = graph_inputs(layer), positions = (uint32_t)layer->out_h * layer->out_w;
    const back_layout_t layout = back_layout(layer, inputs);
    const affine8_tail_t *tail = affine8_tail(model, l);
    const affine8_error_t of = way->error[l + 1];
    const int8_t *weights = model_weights(model, l);
    int8_t *buffer = model_buffer(model, PLAN_BACK, l), *scratch = buffer + layout.scratch;
    int32_t *acc = (int32_t *)(void *)buffer;
    affine8_errors_t errors = {
        .error = error_of(way, (uint8_t)(l + 1)), .zero = of.z, .kept = kept->kept, .count = kept->count};
    if (kept->count < layer->out_c && layer->op != OP_DEPTHWISE) {
        gather_channels_s8(errors.error, positions, layer->out_c, kept->kept, kept->count, buffer + layout.levelled);
        errors.error = buffer + layout.levelled;
    }
    switch (layer->op) {
    case OP_CONV2D:
        affine8_conv2d_input_error(&errors, weights, tail->zero, &shape, (int32_t *)(void *)scratch, acc);
        break;
    case OP_DEPTHWISE: affine8_depthwise_input_error(&errors, weights, tail->zero, &shape, scratch, acc); break;
    case OP_POINTWISE: affine8_pointwise_input_error(&errors, weights, tail->zero, &shape, acc); break;
    default: affine8_fully_connected_input_error(&errors, weights, tail->zero, inputs, acc);
    }
    const affine8_tensor_t tensor = {.context = acc, .n = inputs, .c = tail->scale * of.s};
    const affine8_rule_t rule = rule_of(way, l, 0);
    return affine8_quantize_sums(&tensor, &rule, to);
}

static affine8_error_t through_pool(const way_back_t *way, uint8_t l, int8_t *to) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const int8_t *error = error_of(way, (uint8_t)(l + 1));
    affine8_error_t of = way->error[l + 1];
    if (layer->op == OP_MAX_POOL) {
        max_pool_error_s8(value_of(way, layer->reads[0]), error, &shape, of.z, to);
    } else {
        average_pool_error_s8(error, &shape, of.z, to);
        of.s = of.s / (float)((uint32_t)layer->kernel_h * layer->kernel_w);
    }
    return of;
}

/* Through a multiply, to its first or second value. The sums of the second are in its buffer. */
static affine8_error_t through_multiply(const way_back_t *way, uint8_t l, uint8_t read, int8_t *to) {
    const model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint8_t other = layer->reads[1 - read];
    const affine8_params_t params = affine8_value(model, other);
    const affine8_product_t product = {.other = value_of(way, other),
                                       .zero = params.z,
                                       .scale = params.s,
                                       .positions = (uint32_t)layer->out_h * layer->out_w,
                                       .channels = layer->out_c};
    const int8_t *error = error_of(way, (uint8_t)(l + 1));
    const affine8_error_t of = way->error[l + 1];
    const affine8_rule_t rule = rule_of(way, l, read);
    return read == 0 ? affine8_multiply_error_of_a(&product, error, of, &rule, to)
                     : affine8_multiply_error_of_b(&product, error, of, &rule, model_words(model, PLAN_BACK, l), to);
}

static affine8_error_t through_hard_swish(const way_back_t *way, uint8_t l, int8_t *to) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const affine8_rule_t rule = rule_of(way, l, 0);
    return affine8_hard_swish_error(value_of(way, layer->reads[0]), affine8_table(way->model, l)->slopes,
                                    error_of(way, (uint8_t)(l + 1)), way->error[l + 1], graph_outputs(layer), &rule,
                                    to);
}

static affine8_error_t through_cast(const way_back_t *way, uint8_t l, int8_t *to) {
    const float *error = float32_buffer(way->model, PLAN_ERROR, (uint8_t)(l + 1));
    return affine8_quantize_f32(error, graph_outputs(graph_layer(&way->model->file, l)),
                                affine8_rounds_down(way->model), to);
}

/* Where the error that a further reader adds is computed: of the first value of a multiply behind the sums of the
   second. */
static int8_t *place_apart(const way_back_t *way, uint8_t l, uint8_t read) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const uint32_t sums = layer->op == OP_MULTIPLY && read == 0 ? (layer->out_c + 1u) / 2u * 8u : 0;
    return model_buffer(way->model, PLAN_BACK, l) + sums;
}

/* Compute the error that a layer gives to a value of affine8, in `to`. That of an add is its own. */
static affine8_error_t error_through(const way_back_t *way, uint8_t l, uint8_t read, const fqt_kept_t *kept,
                                     int8_t *to) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    switch (layer->op) {
    case OP_CAST: return through_cast(way, l, to);
    case OP_HARD_SWISH: return through_hard_swish(way, l, to);
    case OP_MULTIPLY: return through_multiply(way, l, read, to);
    case OP_MAX_POOL:
    case OP_AVERAGE_POOL: return through_pool(way, l, to);
    case OP_ADD: memcpy(to, error_of(way, (uint8_t)(l + 1)), graph_outputs(layer)); return way->error[l + 1];
    default: return through_weights(way, l, kept, to);
    }
}

static void give_s8(way_back_t *way, uint8_t l, uint8_t read, const fqt_kept_t *kept) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const uint8_t value = layer->reads[read];
    const uint32_t n = (uint32_t)graph_elements(&way->model->file, value);
    affine8_error_t own = way->error[l + 1];
    if (!has_arrived(way, value)) {
        own = error_through(way, l, read, kept, error_of(way, value));
    } else {
        const bool as_it_is = layer->op == OP_ADD;
        int8_t *apart = as_it_is ? error_of(way, (uint8_t)(l + 1)) : place_apart(way, l, read);
        own = as_it_is ? own : error_through(way, l, read, kept, apart);
        check_scale(way, l, own);
        if (way->failure.code != 0) {
            return;
        }
        own = affine8_merge_errors(error_of(way, value), way->error[value], apart, own, n,
                                   affine8_rounds_down(way->model));
    }
    check_scale(way, l, own);
    way->error[value] = own;
}

/* Products of a step, and not of a trace: those of the channels that are kept. */
static void count_products(way_back_t *way, uint8_t l, uint32_t channels) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    if (way->model->watch.running && graph_has_weights(layer)) {
        way->model->macs += (uint64_t)layer->out_h * layer->out_w * graph_taps(layer) * channels;
    }
}

/* To a value of float32. The error of the output is not needed any more, so that of the kept channels may take its
   place. */
static void give_f32(const way_back_t *way, uint8_t l, uint8_t read, const fqt_kept_t *kept) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const uint8_t value = layer->reads[read];
    const bool sparse = graph_has_weights(layer) && kept->count < layer->out_c;
    const kept_f32_t channels = {.list = sparse ? kept->kept : NULL, .count = sparse ? kept->count : layer->out_c};
    if (sparse) {
        pack_channels_f32(float32_buffer(way->model, PLAN_ERROR, (uint8_t)(l + 1)),
                          (uint32_t)layer->out_h * layer->out_w, layer->out_c, &channels);
    }
    float32_input_error(way->model, l, read, has_arrived(way, value), &channels);
}

static void hand_on(way_back_t *way, uint8_t l, uint8_t read, const fqt_kept_t *kept) {
    const graph_layer_t *layer = graph_layer(&way->model->file, l);
    const uint8_t value = layer->reads[read];
    if (!has_error(&way->model->training, value)) {
        return;
    }
    if (layer->format == FORMAT_AFFINE8 || layer->op == OP_CAST) {
        give_s8(way, l, read, kept);
    } else {
        give_f32(way, l, read, kept);
        way->error[value] = (affine8_error_t){.s = 0.0f};
    }
    way->arrived |= UINT64_C(1) << (value - 1);
    count_products(way, l, kept->count);
}

static void gate(const way_back_t *way, uint8_t l) {
    const model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint8_t y = (uint8_t)(l + 1);
    if (!graph_has_limits(layer)) {
        return;
    }
    if (layer->format == FORMAT_FLOAT32) {
        float32_gate(model, l);
        return;
    }
    const graph_limits_t *limits = affine8_limits(&model->file, layer);
    const affine8_params_t out = affine8_value(model, y);
    affine8_gate(value_of(way, y), graph_outputs(layer), affine8_limit(limits->act_min, &out),
                 affine8_limit(limits->act_max, &out), way->error[y].z, error_of(way, y));
}

static void show(const way_back_t *way, uint8_t l) {
    if (way->model->observer == NULL) {
        return; /* of a step nobody sees an error */
    }
    const uint8_t y = (uint8_t)(l + 1);
    const uint32_t bytes = (uint32_t)graph_size(&way->model->file, y);
    if (graph_layer(&way->model->file, l)->format == FORMAT_FLOAT32) {
        observe(way->model->observer, error_of(way, y), bytes, 0);
    } else {
        observe_scaled(way->model->observer, error_of(way, y), bytes, way->error[y].s, way->error[y].z);
    }
}

static void pass_back(way_back_t *way, uint8_t l) {
    model_t *model = way->model;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    fqt_kept_t kept = {.count = 0};
    show(way, l);
    gate(way, l);
    if (graph_has_weights(layer)) {
        kept = fqt_keep(model, l, way->error[l + 1], way->sample->share);
    }
    if (graph_has_weights(layer) && way->sample->learns) {
        fqt_learn(model, way->sample->pass, l, way->error[l + 1], &kept);
        count_products(way, l, kept.count);
    }
    for (uint8_t read = 0; read < graph_read_count(layer) && way->failure.code == 0; read++) {
        hand_on(way, l, read, &kept);
    }
    model->layer_runs += model->watch.running;
    stopwatch_book(&model->watch, &model->account.backward[l]);
}

static void begin(way_back_t *way) {
    model_t *model = way->model;
    const uint8_t n = model->file.layers;
    way->arrived = UINT64_C(1) << (n - 1);
    if (graph_value_format(&model->file, n) == FORMAT_FLOAT32) {
        float32_logits_error(model, way->sample->label);
        way->error[n] = (affine8_error_t){.s = 0.0f};
        return;
    }
    way->error[n] = affine8_logits_error(value_of(way, n), model_classes(model), affine8_value(model, n).s,
                                         way->sample->label, affine8_rounds_down(model), error_of(way, n));
    check_scale(way, (uint8_t)(n - 1), way->error[n]);
}

failure_t fqt_backward(const fqt_sample_t *sample) {
    way_back_t way; /* its errors are there when they have arrived */
    way.sample = sample;
    way.model = sample->model;
    way.failure = no_failure();
    begin(&way);
    for (uint8_t l = way.model->file.layers; l-- > way.model->training.first_backward && way.failure.code == 0;) {
        if (in_set(way.model->training.reached, l)) {
            pass_back(&way, l);
        }
    }
    return way.failure;
}
