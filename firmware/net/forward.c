#include "net/forward.h"

#include "kernels/conv2d_s8.h"
#include "kernels/fully_connected_s8.h"
#include "kernels/max_pool_s8.h"
#include "kernels/relu_s8.h"
#include "kernels/requantize_s8.h"

/* conv2d and fully_connected: the sums, then the activation and its exponent. */
static void forward_trained(model_t *model, uint8_t i, const int8_t *in, int8_t *out) {
    const layer_t *layer = &model->network.layer[i];
    const layer_shape_t *shape = &layer->shape;
    const int8_t *weights = model_weights(model, layer);
    int32_t *acc = model_s32(model, model->plan.layer[i].acc);
    if (layer->op == OP_CONV2D) {
        conv2d_s8(in, weights, shape, model_s8(model, model->plan.layer[i].scratch), acc);
    } else {
        fully_connected_s8(in, weights, shape_inputs(shape), shape_outputs(shape), acc);
    }
    const int32_t growth = requantize_s8(acc, shape_outputs(shape), out);
    model->act_exponent[i] = model_input_exponent(model, i) + layer->weight_exponent + growth;
}

static void forward_layer(model_t *model, uint8_t i, const int8_t *sample) {
    const layer_t *layer = &model->network.layer[i];
    const int8_t *in = model_input(model, i, sample);
    int8_t *out = model_s8(model, model->plan.layer[i].act);
    if (layer_is_trained(layer)) {
        forward_trained(model, i, in, out);
        return;
    }
    model->act_exponent[i] = model_input_exponent(model, i);
    if (layer->op == OP_RELU) {
        relu_s8(out, shape_outputs(&layer->shape)); /* `out` is `in` */
    } else {
        max_pool_s8(in, &layer->shape, out);
    }
}

void forward(model_t *model, const int8_t *sample) {
    for (uint8_t i = 0; i < model->network.layers; i++) {
        forward_layer(model, i, sample);
        observe(model->observer, model_s8(model, model->plan.layer[i].act), shape_outputs(&model->network.layer[i].shape),
                model->act_exponent[i]);
    }
}
