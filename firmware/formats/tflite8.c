#include "formats/tflite8.h"

#include <string.h>

#include "formats/tflite8_sizes.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/fully_connected.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "kernels/requantize.h"

static bool is_single(const graph_layer_t *layer) {
    return layer->rounding == ROUNDS_SINGLE;
}

/* In a buffer follow one another: gains, multipliers, shifts. */
gains_t tflite8_gains(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_parameters_t own = graph_parameters(&model->file, layer);
    const uint32_t n = graph_channels(layer);
    int32_t *gain = model_words(model, PLAN_GAINS, l);
    return (gains_t){.gain = gain,
                     .multiplier = own.multiplier,
                     .shift = own.shift,
                     .made_multiplier = gain + n,
                     .made_shift = (int8_t *)(gain + 2 * n),
                     .n = n};
}

uint64_t tflite8_gain_bytes(const graph_layer_t *layer) {
    const uint64_t channels = graph_channels(layer);
    return 2 * sizeof(int32_t) * channels + (channels + 3) / 4 * 4;
}

/* Sums follow the weights that were copied from a file in flash. */
tensors_t tflite8_tensors(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_parameters_t own = graph_parameters(&model->file, layer);
    const uint32_t copied = plan_at(&model->plan, PLAN_WEIGHTS, l);
    const uint32_t after = (graph_weight_count(layer) + 3u) / 4u * 4u;
    const bool scaled = model_has_gains(model, l);
    const gains_t gains = scaled ? tflite8_gains(model, l) : (gains_t){.n = 0};
    return (tensors_t){
        .weights = model_weights(model, l),
        .sums = copied != PLAN_NOWHERE ? model_s32(model, copied + after) : (int32_t *)(uintptr_t)own.sum,
        .bias = model_biases(model, l),
        .multiplier = scaled ? gains.made_multiplier : own.multiplier,
        .shift = scaled ? gains.made_shift : own.shift,
        .scale = own.scale,
    };
}

static void fold_weights(const graph_layer_t *layer, const int8_t *weights, const int32_t *bias, int8_t zero,
                         int32_t *folded) {
    const uint32_t taps = graph_taps(layer), channels = graph_channels(layer);
    const bool depthwise = layer->op == OP_DEPTHWISE;
    tflite_fold_bias(bias, weights, taps, depthwise ? channels : 1, channels, depthwise ? 1 : taps, zero, folded);
}

/* An input zero of -1 adds them to what is there. */
void tflite8_sum_weights(const model_t *model, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = tflite8_tensors(model, l);
    memset(tensors.sums, 0, graph_channels(layer) * sizeof tensors.sums[0]);
    fold_weights(layer, tensors.weights, tensors.sums, -1, tensors.sums);
}

layer_args_t tflite8_layer_args(const model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = tflite8_tensors(model, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const int8_t zero = graph_zero(&model->file, layer->reads[0]);
    int8_t *work = model_buffer(model, PLAN_WORK, l);
    int32_t *folded = (int32_t *)(void *)work;
    if (in_set(pass->perturbed, l)) {
        fold_weights(layer, tensors.weights, tensors.bias, zero, folded);
    } else {
        tflite_fold_bias_sums(tensors.bias, tensors.sums, zero, graph_channels(layer), folded);
    }
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
                    .requantize = is_single(layer) ? requantize_channels_single_s8 : requantize_channels_s8},
        .work = work,
        .scratch = work + folded_bytes(layer),
    };
}

static void run_with_weights(const model_t *model, const pass_t *pass, uint8_t l) {
    const layer_args_t args = tflite8_layer_args(model, pass, l);
    const int8_t *in = pass_value(model, pass, args.layer->reads[0]);
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    switch (args.layer->op) {
    case OP_CONV2D: tflite_conv2d_s8(in, args.weights, &args.shape, &args.factors, args.scratch, out); break;
    case OP_DEPTHWISE: tflite_depthwise_s8(in, args.weights, &args.shape, &args.factors, args.scratch, out); break;
    case OP_POINTWISE: tflite_pointwise_s8(in, args.weights, &args.shape, &args.factors, args.scratch, out); break;
    default:
        tflite_fully_connected_s8(in, args.weights, shape_inputs(&args.shape), shape_outputs(&args.shape),
                                  &args.factors, (int32_t *)(void *)args.scratch, out);
    }
}

static void run_add(const model_t *model, const graph_layer_t *layer, const int8_t *a, const int8_t *b, int8_t *out) {
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
                              .single = is_single(layer)};
    tflite_add_s8(a, b, graph_outputs(layer), &add, out);
}

static void run_mean(const model_t *model, const graph_layer_t *layer, const int8_t *in, int8_t *out) {
    const graph_file_t *file = &model->file;
    const graph_output_t *output = graph_output(file, layer);
    const graph_mean_t *factor = graph_mean(file, layer);
    const tflite_mean_t mean = {.multiplier = factor->multiplier,
                                .shift = factor->shift,
                                .input_zero = graph_zero(file, layer->reads[0]),
                                .output_zero = output->zero,
                                .act_min = output->act_min,
                                .act_max = output->act_max,
                                .single = is_single(layer)};
    tflite_mean_s8(in, (uint32_t)layer->in_h * layer->in_w, layer->in_c, &mean, out);
}

void tflite8_run_unweighted(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const layer_shape_t shape = graph_shape(layer);
    const int8_t *in = pass_value(model, pass, layer->reads[0]);
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    switch (layer->op) {
    case OP_MAX_POOL: tflite_max_pool_s8(in, &shape, output->act_min, output->act_max, out); break;
    case OP_AVERAGE_POOL: tflite_average_pool_s8(in, &shape, output->act_min, output->act_max, out); break;
    case OP_ADD: run_add(model, layer, in, pass_value(model, pass, layer->reads[1]), out); break;
    case OP_TABLE: tflite_table_s8(in, graph_outputs(layer), graph_table(&model->file, layer), out); break;
    default: run_mean(model, layer, in, out);
    }
}

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    if (graph_has_weights(graph_layer(&model->file, l))) {
        run_with_weights(model, pass, l);
    } else {
        tflite8_run_unweighted(model, pass, l);
    }
}

float tflite8_loss(const model_t *model, const int8_t *logits, uint32_t label) {
    return cross_entropy_scaled_f32(logits, model_classes(model), graph_scale(&model->file, model->file.layers), label);
}

static bool may_be(const model_t *model, const written_t *written, uint32_t at) {
    if (written->tensor.kind == TENSOR_GAINS) {
        const int32_t gain = (int32_t)written_word(written, at);
        return gain >= GAIN_LEAST && gain <= GAIN_MOST;
    }
    return may_be_s8(model, written, at);
}

static void rewritten(const model_t *model, uint8_t l, enum tensor_kind kind) {
    if (kind == TENSOR_WEIGHTS) {
        tflite8_sum_weights(model, l);
    }
    if (kind == TENSOR_GAINS) {
        const gains_t gains = tflite8_gains(model, l);
        gains_make(&gains);
    }
}

/* -128 never appears in a tensor. */
const format_t tflite8 = {
    .number = FORMAT_TFLITE8,
    .label_bytes = sizeof(uint16_t),
    .stays_in_flash = true,
    .has_biases = true,
    .bias_offset = sizeof(graph_output_t),
    .channel_bytes = sizeof(int32_t),
    .load = centre_pixels_s8,
    .run = run,
    .run_chain = tflite8_run_chain,
    .loss = tflite8_loss,
    .predicted = argmax_s8,
    .may_be = may_be,
    .rewritten = rewritten,
    .serves = SERVES_WRITE_TENSOR | SERVES_WORK | SERVES_MLPERF_TINY,
};
