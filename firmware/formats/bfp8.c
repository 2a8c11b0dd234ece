#include "formats/bfp8.h"

#include <stddef.h>

#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/fully_connected.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "kernels/requantize.h"

enum { INPUT_EXPONENT = -7 }; /* of a pixel: docs/network.md, check 9 */

/* The sums of conv2d and fully_connected, one sample. */
static void sum_products(const model_t *model, uint8_t l, const int8_t *in, int32_t *acc) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const layer_shape_t shape = graph_shape(layer);
    const int8_t *weights = model_weights(model, l);
    if (layer->op == OP_CONV2D) {
        conv2d_s8(in, weights, &shape, model_buffer(model, CHAIN_SCRATCH, l), acc);
    } else {
        fully_connected_s8(in, weights, graph_inputs(layer), graph_outputs(layer), acc);
    }
}

/* The sums of the whole group, then its outputs; returns by how much their exponent is above that of the sums. */
static int32_t run_trained(const model_t *model, uint8_t l, const int8_t *in, uint16_t count, int8_t *out) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    int32_t *acc = model_words(model, PLAN_WORK, l);
    for (uint16_t b = 0; b < count; b++) {
        sum_products(model, l, in + b * inputs, acc + b * outputs);
    }
    return layer->weight_exponent + requantize_s8(acc, count * outputs, out);
}

static void run(model_t *model, const pass_t *pass, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const int8_t *in = pass_value(model, pass, l);
    int8_t *out = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
    int32_t exponent = model->exponent[l];
    if (graph_has_weights(layer)) {
        exponent += run_trained(model, l, in, pass->count, out);
    } else if (layer->op == OP_RELU) {
        relu_s8(out, pass->count * outputs); /* `out` is `in` */
    } else {
        const layer_shape_t shape = graph_shape(layer);
        for (uint16_t b = 0; b < pass->count; b++) {
            max_pool_s8(in + b * inputs, &shape, out + b * outputs);
        }
    }
    model->exponent[l + 1] = (int16_t)exponent; /* within 32 layers of -32..8 and their growth of 0..24 */
}

static void load(int8_t *values, const uint8_t *pixels, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (int8_t)(pixels[i] >> 1);
    }
}

static float loss(const model_t *model, const int8_t *logits, uint32_t label) {
    return cross_entropy_f32(logits, model_classes(model), model_logits_exponent(model), label);
}

/* -128 never appears in a tensor. */
const format_t bfp8 = {
    .number = FORMAT_BFP8,
    .input_exponent = INPUT_EXPONENT,
    .label_bytes = sizeof(uint8_t),
    .trains_all = true,
    .load = load,
    .run = run,
    .loss = loss,
    .predicted = argmax_s8,
    .may_be = may_be_s8,
    .chain = &bfp8_chain,
    .serves = SERVES_MLPERF_TINY,
};
