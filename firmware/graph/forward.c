#include "graph/forward.h"

#include "graph/layer_args.h"
#include "graph/sizes.h"
#include "kernels/losses.h"
#include "kernels/tflite_add_s8.h"
#include "kernels/tflite_conv2d_s8.h"
#include "kernels/tflite_depthwise_s8.h"
#include "kernels/tflite_fully_connected_s8.h"
#include "kernels/tflite_layer.h"
#include "kernels/tflite_pooling_s8.h"

const int8_t *graph_value(const graph_model_t *model, const pass_t *pass, uint8_t value) {
    if (value == 0 && !graph_consumes(&model->settings)) {
        return pass->sample;
    }
    return value > 0 && value == pass->replaced ? pass->nodes : graph_buffer(model, PLAN_VALUE, value);
}

static void fold(const pass_t *pass, uint8_t l, const graph_layer_t *layer, const tensors_t *tensors, int8_t zero,
                 int32_t *folded) {
    const uint32_t taps = graph_taps(layer), channels = graph_channels(layer);
    if (!in_set(pass->perturbed, l)) {
        tflite_fold_bias_sums(tensors->bias, tensors->sums, zero, channels, folded);
    } else if (layer->op == OP_DEPTHWISE) {
        tflite_fold_bias(tensors->bias, tensors->weights, taps, channels, channels, 1, zero, folded);
    } else {
        tflite_fold_bias(tensors->bias, tensors->weights, taps, 1, channels, taps, zero, folded);
    }
}

layer_args_t graph_layer_args(const graph_model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = graph_tensors(model, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const int8_t zero = graph_zero(&model->file, layer->reads[0]);
    int8_t *work = graph_buffer(model, PLAN_WORK, l);
    int32_t *folded = (int32_t *)(void *)work;
    fold(pass, l, layer, &tensors, zero, folded);
    return (layer_args_t){
        .layer = layer,
        .shape = graph_shape(layer),
        .weights = tensors.weights,
        .factors = {.input_zero = zero,
                    .output_zero = output->zero,
                    .act_min = output->act_min,
                    .act_max = output->act_max,
                    .bias = folded,
                    .multiplier = tensors.multiplier,
                    .shift = tensors.shift,
                    .requantize =
                        graph_header(&model->file)->single ? requantize_channels_single_s8 : requantize_channels_s8},
        .work = work,
        .scratch = work + folded_bytes(layer),
    };
}

static void run_with_weights(const graph_model_t *model, const pass_t *pass, uint8_t l, const int8_t *in, int8_t *out) {
    const layer_args_t args = graph_layer_args(model, pass, l);
    switch (args.layer->op) {
    case OP_CONV2D: tflite_conv2d_s8(in, args.weights, &args.shape, &args.factors, args.scratch, out); break;
    case OP_DEPTHWISE: tflite_depthwise_s8(in, args.weights, &args.shape, &args.factors, args.scratch, out); break;
    case OP_POINTWISE: tflite_pointwise_s8(in, args.weights, &args.shape, &args.factors, args.scratch, out); break;
    default:
        tflite_fully_connected_s8(in, args.weights, shape_inputs(&args.shape), shape_outputs(&args.shape),
                                  &args.factors, (int32_t *)(void *)args.scratch, out);
    }
}

static void run_add(const graph_model_t *model, const graph_layer_t *layer, const int8_t *a, const int8_t *b,
                    int8_t *out) {
    const graph_file_t *file = &model->file;
    const graph_output_t *output = graph_output(file, layer);
    const graph_factors_t *factors = graph_factors(file, layer);
    const int8_t zeros[3] = {graph_zero(file, layer->reads[0]), graph_zero(file, layer->reads[1]), output->zero};
    tflite_operand_t operands[3];
    for (uint32_t i = 0; i < 3; i++) {
        operands[i] =
            (tflite_operand_t){.multiplier = factors->multiplier[i], .shift = factors->shift[i], .zero = zeros[i]};
    }
    const tflite_add_t add = {.a = operands[0],
                              .b = operands[1],
                              .out = operands[2],
                              .act_min = output->act_min,
                              .act_max = output->act_max,
                              .single = graph_header(file)->single != 0};
    tflite_add_s8(a, b, graph_outputs(layer), &add, out);
}

static void run_layer(const graph_model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const layer_shape_t shape = graph_shape(layer);
    const int8_t *in = graph_value(model, pass, layer->reads[0]);
    int8_t *out = graph_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    switch (layer->op) {
    case OP_MAX_POOL: tflite_max_pool_s8(in, &shape, output->act_min, output->act_max, out); break;
    case OP_AVERAGE_POOL: tflite_average_pool_s8(in, &shape, output->act_min, output->act_max, out); break;
    case OP_ADD: run_add(model, layer, in, graph_value(model, pass, layer->reads[1]), out); break;
    default: run_with_weights(model, pass, l, in, out);
    }
}

/* A layer has been run: what it cost, and what it gave; of the values within a chain there is nothing to be seen. */
static void account_for(graph_model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    if (model->watch.running) {
        model->macs += graph_products(layer);
        model->layer_runs++;
    }
    stopwatch_book(&model->watch, &model->account.forward[l]);
    if (is_joined_behind(&model->training, l)) {
        observe(model->observer, graph_s8(model, 0), 0, 0);
    } else {
        observe(model->observer, graph_buffer(model, PLAN_VALUE, (uint8_t)(l + 1)), graph_outputs(layer), 0);
    }
}

void graph_run(graph_model_t *model, const pass_t *pass, uint8_t from, uint8_t to) {
    for (uint8_t l = from; l < to; l++) {
        if (!in_set(model->training.joined, l)) {
            if (is_joined_behind(&model->training, l)) {
                graph_run_chain(model, pass, l);
            } else {
                run_layer(model, pass, l);
            }
        }
        account_for(model, l);
    }
}

void graph_enter(graph_model_t *model, uint8_t from) {
    const planned_t planned = graph_planned(model);
    graph_plan_start(&model->plan, &planned, from, model->arena);
    stopwatch_book(&model->watch, &model->account.perturb);
}

void graph_run_all(graph_model_t *model, const pass_t *pass) {
    const planned_t planned = graph_planned(model);
    const uint8_t first = model->plan.first;
    graph_plan_begin(&model->plan, &planned);
    if (first > 0) {
        graph_run(model, pass, 0, first);
        graph_enter(model, first);
    }
    graph_run(model, pass, first, model->file.layers);
}

float graph_loss(graph_model_t *model, const pass_t *pass, uint16_t label) {
    const uint8_t n = model->file.layers;
    const int8_t *logits = graph_value(model, pass, n);
    const float loss =
        cross_entropy_scaled_f32(logits, graph_header(&model->file)->classes, graph_scale(&model->file, n), label);
    stopwatch_book(&model->watch, &model->account.forward[n - 1]);
    return loss;
}
